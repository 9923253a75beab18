"""Recorded campaigns, under one name: their records (:mod:`.records`) and the tables made of them (:mod:`.tables`)."""

from macal.campaigns.records import DamagedRecord as DamagedRecord
from macal.campaigns.records import ForeignRecord as ForeignRecord
from macal.campaigns.records import Record as Record
from macal.campaigns.records import read as read
from macal.campaigns.records import read_all as read_all
from macal.campaigns.records import requested_keys as requested_keys
from macal.campaigns.records import table as table
from macal.campaigns.records import write as write
from macal.campaigns.records import write_request as write_request
from macal.campaigns.tables import FOLDER as FOLDER
from macal.campaigns.tables import Incomplete as Incomplete
from macal.campaigns.tables import Uncommitted as Uncommitted
from macal.campaigns.tables import checkout as checkout
from macal.campaigns.tables import cost as cost
from macal.campaigns.tables import load as load
from macal.campaigns.tables import origins as origins
from macal.campaigns.tables import publish as publish
from macal.campaigns.tables import require_committed as require_committed
from macal.campaigns.tables import targets as targets
from macal.campaigns.tables import unpack as unpack
