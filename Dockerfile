# both commands of README on a bare system: docker build -t macal . && docker run --rm macal
# for the CPU build of torch, a tenth of the other one: docker build --build-arg TORCH_INDEX=... with PyTorch's own index
ARG PYTHON=3.11
FROM python:${PYTHON}-slim-bookworm
# Chromium for the tests of the site; the compiler for econml, which has no wheel for Linux on Arm, and for torch.compile
RUN apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core g++ git make && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home reader && install -d -o reader /home/reader/macal
USER reader
WORKDIR /home/reader/macal
ARG TORCH_INDEX=
RUN python -m venv .venv && \
    .venv/bin/python -m pip install -q --no-deps torch==2.13.0 ${TORCH_INDEX:+--index-url $TORCH_INDEX}
COPY --chown=reader . .
RUN make book PYTHON=python
ENV MACAL_REQUIRE_BROWSER=1
CMD ["make", "test", "PYTHON=python"]
