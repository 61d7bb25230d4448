"""The ledger as the workflows see it: one object per database, each method one transaction or stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

from sqlalchemy import Connection, Engine, select

from lifecycle.adapters.ledger import engine as _engine
from lifecycle.adapters.ledger import intake, lives, papers, story, sweeps, transitions, upgrade
from lifecycle.adapters.ledger.faults import shown_url, too_new, translated
from lifecycle.adapters.ledger.schema import HEAD, version
from lifecycle.core.history import NodeHistory
from lifecycle.core.records import (
    CardRow,
    CardStory,
    Incoming,
    IngestReport,
    NodeRead,
    NodeRow,
    SweepRecord,
    TargetKind,
    Transition,
)


class Ledger:
    """An open ledger. Methods raise LedgerUnavailable, LedgerTooNew or NotFound; times are epoch ms."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name = shown_url(engine.url)
        self._driver_error: type[Exception] = engine.dialect.loaded_dbapi.Error

    @classmethod
    def open(cls, url: str, *, create: bool = True, lock_wait_s: float = _engine.LOCK_WAIT_S) -> Ledger:
        """Open the ledger at an SQLAlchemy URL; bring an older one up to date, make a missing one if asked.

        lock_wait_s: how long to wait for another writer. Raises BadArgument for a URL that cannot be used.
        """
        parsed = _engine.parse_url(url)
        upgrade.make_file(parsed, create=create)
        engine = _engine.make_engine(parsed, lock_wait_s)
        try:
            with translated(shown_url(parsed)):
                upgrade.bring_up_to_date(engine, create=create)
        except BaseException:
            engine.dispose()
            raise
        return cls(engine)

    def close(self) -> None:
        """Give the connections back; the last one folds SQLite's write-ahead log into the file."""
        self._engine.dispose()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ingest(
        self,
        items: Iterable[Incoming],
        *,
        now: int,
        committed: Callable[[Sequence[Incoming]], None] | None = None,
        report: IngestReport | None = None,
    ) -> IngestReport:
        """Take documents in, each exactly once, in batches of one transaction each.

        `committed` is called after each commit with the documents that are safe from then on, new or known
        alike. Taking in the same document again changes nothing. `items` is consumed as it comes, so a
        spool of any length needs the memory of one batch. `report` is added to where one is given.
        """
        report = report if report is not None else IngestReport()
        for batch in intake.batches(items):
            with self._writing() as connection:
                intake.take_in(connection, batch, now=now, report=report)
            if committed is not None:
                committed(batch)
        return report

    def histories(self, as_of: int, heat_since: int | None = None) -> Iterator[NodeHistory]:
        """Every node known at as_of in the order of names, with the life of the cards last seen there.

        heat_since: temperatures are given from that time on (and always from the newest observation).
        Memory grows with the longest chunk of nodes, not with the fleet.
        """
        with self._reading() as connection:
            yield from lives.histories(connection, as_of, as_of if heat_since is None else heat_since)

    def cards(self, as_of: int) -> Iterator[CardRow]:
        """Where every card is, in the order of nodes."""
        for node in self.histories(as_of):
            yield from (story.card_row(card) for card in node.cards)

    def nodes(self, as_of: int) -> Iterator[NodeRow]:
        """Every node, in the order of names."""
        with self._reading() as connection:
            yield from lives.node_rows(connection, as_of)

    def find_card(self, wanted: str) -> str:
        """The UUID of the card with this UUID, serial, or unambiguous beginning of either.

        Raises NotFound where there is none or more than one; the message names the candidates.
        """
        with self._reading() as connection:
            return story.find_card(connection, wanted)

    def card_story(self, wanted: str, as_of: int) -> CardStory:
        """A card's life up to as_of, oldest first; `wanted` as for `find_card`."""
        with self._reading() as connection:
            return story.tell(connection, story.find_card(connection, wanted), as_of)

    def document(self, observation_id: int) -> bytes:
        """The facts document of an observation as it was taken in (order of keys may differ)."""
        with self._reading() as connection:
            return papers.document(connection, observation_id)

    def observation_ids(self, node: str) -> list[int]:
        """The observations of a node, oldest first."""
        with self._reading() as connection:
            return papers.observation_ids(connection, node)

    def record_sweep(self, sweep: SweepRecord) -> None:
        """Remember that a sweep took place."""
        with self._writing() as connection:
            sweeps.add_sweep(connection, sweep)

    def last_complete_sweep(self) -> SweepRecord | None:
        """The newest sweep that read every node it asked."""
        with self._reading() as connection:
            return sweeps.last_complete_sweep(connection)

    def newest_sweep(self) -> SweepRecord | None:
        """The newest sweep, complete or not."""
        with self._reading() as connection:
            return sweeps.newest_sweep(connection)

    def read_since(self, since: int) -> dict[str, NodeRead]:
        """node → the best that was observed of it at or after `since` (epoch ms), in the order of names.

        A readable observation wins over one that failed, a newer over an older one. Nodes without any
        observation since then are left out.
        """
        with self._reading() as connection:
            return sweeps.read_since(connection, since)

    def state_of(self, kind: TargetKind, target: str) -> str:
        """The state of a card (its boards' transitions included), a node or a board."""
        with self._reading() as connection:
            return transitions.state_of(connection, kind, target)

    def state_before(self, kind: TargetKind, target: str, to_state: str) -> str:
        """The state a target would leave for `to_state`, as `record_transition` checks it; writes nothing.

        Raises NotFound for a target the ledger does not know, and Refused where the target is in a final
        state, or is a board that holds a card in one (unless `to_state` is final too).
        """
        with self._reading() as connection:
            return transitions.state_before(connection, kind, target, to_state)

    def record_transition(
        self, *, at: int, kind: TargetKind, target: str, to_state: str, who: str, reason: str
    ) -> Transition:
        """Record a change of state and give it back with the state it left.

        Raises NotFound and Refused as `state_before` does; then nothing is recorded.
        """
        with self._writing() as connection:
            return transitions.add_transition(connection, at, kind, target, to_state, who, reason)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with translated(self.name, self._driver_error), _engine.reading(self._engine) as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with translated(self.name, self._driver_error), _engine.writing(self._engine) as connection:
            # The lock on this row is what makes writers queue where the database itself does not.
            found = connection.execute(select(version.c.version_num).with_for_update()).scalar_one()
            if found != HEAD:
                raise too_new(self.name, found, HEAD)
            yield connection
