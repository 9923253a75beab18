# both commands of README on a bare system: docker build -t macal . && docker run --rm macal
ARG PYTHON=3.11
FROM python:${PYTHON}-slim-bookworm
# Chromium for the tests of the site; the compiler for econml, which has no wheel for Linux on Arm, and for torch.compile
RUN apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core g++ git make && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home reader && install -d -o reader /home/reader/macal
USER reader
WORKDIR /home/reader/macal
# the CPU build of torch, a tenth of the other one; make finds it
RUN python -m venv .venv && \
    .venv/bin/python -m pip install -q --no-deps torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu
COPY --chown=reader . .
RUN make book PYTHON=python
ENV MACAL_REQUIRE_BROWSER=1
CMD ["make", "test", "PYTHON=python"]
