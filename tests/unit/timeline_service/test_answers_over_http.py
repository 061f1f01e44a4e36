"""A service's responses over HTTP equal its view's answers, for every kind of query.

The view has its own model test. Here responses are compared with direct calls: our batches by
their slices, Apache Hudi's routes by their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection
from urllib.parse import urlencode

import pytest

from framework.hudi.filegroup.slices import FileGroupId, FileSlice
from framework.hudi.timeline.timeline import timeline_hash
from framework.hudi.view.port import Query, Selection
from framework.hudi.view.remote import RemoteView, ServiceAddress
from framework.timeline_service.access import Access
from framework.timeline_service.dto import base_file, file_groups, file_slice
from framework.timeline_service.server import EmbeddedServer
from framework.timeline_service.service import Service
from framework.timeline_service.tables import ServedTable, Tables
from framework.vocabulary import ServiceAuth
from tests.support.view_model import Lab, Play

PLAYS = 10_000
SHARDS = 10
QUICK_PLAYS = 50
LONG_SHARDS = 4

SLICES: Mapping[Selection, str] = {
    Selection.LATEST: "slices/partition/latest",
    Selection.UNCOMPACTED: "slices/uncompacted/partition/latest",
    Selection.ALL: "slices/all",
    Selection.MERGED: "slices/merged/beforeoron/latest",
    Selection.BEFORE_OR_ON: "slices/beforeoron/latest",
    Selection.IN_RANGE: "slices/range/latest",
}
BASES: Mapping[Selection, str] = {
    Selection.BASE_LATEST: "datafiles/latest/partition",
    Selection.BASE_ALL: "datafiles/all",
    Selection.BASE_BEFORE_OR_ON: "datafiles/beforeoron/latest",
    Selection.BASE_IN_RANGE: "datafiles/range/latest",
}
GROUPS: Mapping[Selection, str] = {
    Selection.REPLACED: "filegroups/replaced/partition",
    Selection.REPLACED_BEFORE: "filegroups/replaced/before",
    Selection.REPLACED_BEFORE_OR_ON: "filegroups/replaced/beforeoron",
}
ONE_GROUP: Mapping[Selection, str] = {
    Selection.LATEST: "slices/file/latest",
    Selection.MERGED: "slice/merged/beforeoron/latest",
    Selection.BASE_LATEST: "datafile/latest/partition",
    Selection.BASE_ON: "datafile/on/latest",
}
BOUND = "9" * 17


class Line:
    """A server for all plays, and one connection that asks Apache Hudi's routes."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.access = Access(auth=ServiceAuth.LOOPBACK)
        self.server = EmbeddedServer(Service(self.tables, self.access)).start()
        self._connection = HTTPConnection(self.server.host, self.server.port, timeout=30)
        self.asked = 0
        self.slices = 0

    def get(self, route: str, parameters: Mapping[str, str]) -> str:
        """Return the body of an answer."""
        self._connection.request("GET", f"/v1/hoodie/view/{route}?{urlencode(parameters)}")
        answer = self._connection.getresponse()
        body = answer.read().decode()
        assert answer.status == 200, body
        self.asked += 1
        return body

    def close(self) -> None:
        """Serve no more."""
        self._connection.close()
        self.server.stop()


@pytest.fixture
def line() -> Iterator[Line]:
    """One server."""
    found = Line()
    yield found
    found.close()


class ServedPlay(Play):
    """A play whose view is served, and asked over HTTP when all is done."""

    def ask(self, line: Line) -> None:
        """Ask every selection by a batch, and every route that has one, and compare."""
        self.view.sync()
        table = line.tables.register(self._storage.location, self.view)
        queries = [self._query(selection) for selection in Selection for _ in range(2)]
        remote = RemoteView(self._address(line, table))
        try:
            found = [remote.select(each) for each in queries]
            assert list(remote.partitions()) == list(self.view.partitions())
            self._look_up(remote)
        finally:
            remote.close()
        expected = [self.view.select(query) for query in queries]
        assert found == expected
        line.slices += sum(map(len, expected))
        for query in queries:
            self._ask_hudi(line, table, query)

    def _look_up(self, remote: RemoteView) -> None:
        """Ask for the slices of all groups that ever were by name, and compare."""
        paths, ids = (*self.view.partitions(), "none"), [f"g{n}" for n in range(1, 40)]
        groups = [FileGroupId(path, id_) for path in paths for id_ in ids]
        self.rng.shuffle(groups)
        for selection in (Selection.LATEST, Selection.MERGED):
            answers = (self.view.select(Query(selection, path, (id_,))) for path, id_ in groups)
            expected = [found for answer in answers for found in answer]
            assert remote.look_up(groups, selection) == expected

    def _ask_hudi(self, line: Line, table: ServedTable, query: Query) -> None:
        """Compare the bytes of the routes that ask what a query does."""
        path = query.partition_path
        instants = query.instants or frozenset({"0"})
        query = query._replace(instant=query.instant or BOUND, instants=instants)
        said = {
            "basepath": table.location,
            "lastinstantts": self.view.facts.timeline.last_requested_time or "",
            "timelinehash": timeline_hash(self.view.facts.timeline),
            "partition": path or "",
            "maxinstant": query.instant or "",
            "instant": query.instant or "",
            "instants": ",".join(sorted(instants)),
            "includependingcompaction": str(query.include_pending).lower(),
        }
        for file_id in query.file_ids or ():
            route = ONE_GROUP.get(query.selection)
            if route is not None:
                one = query._replace(partition_path=path or "", file_ids=(file_id,))
                response = line.get(route, {**said, "fileid": file_id})
                assert response == self._text(table, one, is_base=route.startswith("data")), route
        whole = query.selection in {Selection.IN_RANGE, Selection.BASE_IN_RANGE}
        wide = query._replace(partition_path=None if whole else path or "", file_ids=None)
        for routes, is_base in ((SLICES, False), (BASES, True)):
            if query.selection in routes:
                response = line.get(routes[query.selection], said)
                assert response == self._text(table, wide, is_base=is_base), query
        if query.selection in GROUPS:
            response = line.get(GROUPS[query.selection], said)
            known = self.view.known
            assert known is not None
            assert response == file_groups(self.view.select(wide), table.places, known)

    def _text(self, table: ServedTable, query: Query, *, is_base: bool) -> str:
        """Return what a route answers, made the long way."""
        found: Sequence[FileSlice] = self.view.select(query)
        form = base_file if is_base else file_slice
        return f"[{','.join(form(each, table.places) for each in found)}]"

    def _address(self, line: Line, table: ServedTable) -> ServiceAddress:
        """Return where the view is asked, as of its own timeline."""
        timeline = self.view.facts.timeline
        return ServiceAddress(
            host=line.server.host,
            port=line.server.port,
            token="",
            driver=line.tables.driver,
            table=table.id,
            instant=timeline.last_requested_time or "",
            timeline=timeline_hash(timeline),
        )


def ask_all(line: Line, seeds: range) -> None:
    """Run each table's history, and compare the responses."""
    for seed in seeds:
        play = ServedPlay(seed, Lab())
        try:
            play.run()
            play.ask(line)
        except BaseException as error:
            error.add_note(f"seed {seed}: {', '.join(play.trace)}")
            raise
        finally:
            play.close()
    assert line.asked > 5 * len(seeds)
    assert line.slices > 5 * len(seeds)


def test_answers_over_http_are_those_of_the_view(line: Line) -> None:
    """After each of some random lives of a table."""
    ask_all(line, range(QUICK_PLAYS))


@pytest.mark.long
@pytest.mark.parametrize("shard", range(LONG_SHARDS))
def test_answers_over_http_of_many_tables_are_those_of_the_view(shard: int, line: Line) -> None:
    """After each of some hundred random lives."""
    ask_all(line, range(QUICK_PLAYS + shard * 100, QUICK_PLAYS + (shard + 1) * 100))


@pytest.mark.full
@pytest.mark.parametrize("shard", range(SHARDS))
def test_answers_over_http_of_very_many_tables_are_those_of_the_view(
    shard: int, line: Line
) -> None:
    """After each of 10,000 random lives."""
    size = PLAYS // SHARDS
    ask_all(line, range(shard * size, (shard + 1) * size))
