# SPDX-License-Identifier: Apache-2.0
# Copyright The Picket Authors
"""A client of Picket's socket API. One file, the standard library alone, Python 3.9 or later.

    import picket

    with picket.Client().claim("web-01", "w48", wait="30s") as claim:
        if not claim.done:
            claim.step("online", "ASSET_ONLINE", {"port": 22})

The claim is held while this process lives, and released at the end of the block; its ticket stays as it is, for the next claim
to resume. With `heartbeat` it is held as long as calls come in, and this file sends none by itself: a call from a thread of its
own would go on although the agent hangs.

A claim can be lost at any moment. Then every call on it raises ClaimLost, and nothing was written. Long work between two calls
looks at `claim.trusted()`, or calls `claim.check()`, which raises. What such work does outside Picket is not fenced: hand
`claim.token` on, and check it there.
"""

from __future__ import annotations

import datetime
import http.client
import json
import os
import re
import secrets
import socket
import threading
import time
import unicodedata
import urllib.parse
from typing import Any, Dict, List, Optional, Type, TypedDict, Union

__all__ = ["Client", "Claim", "Error", "Unreachable", "Problem", "ClaimLost", "LockHeld", "Ticket", "Step", "Delivery", "Next"]

DEFAULT_SOCKET = "/run/picket/picket.sock"
MAX_ANSWER = 64 << 20  # bytes
FOLLOW_SECONDS = 10.0  # for how long a call follows a daemon that is being restarted

Duration = Union[str, float, int, datetime.timedelta]  # "30s", or seconds
Facts = Dict[str, Any]


class Step(TypedDict, total=False):
    """A recorded step of a ticket."""

    state: str
    facts: Facts
    summary: str
    token: int
    host: str
    at: str


class Delivery(TypedDict, total=False):
    """What became of the notification on one channel."""

    status: str  # pending sending sent unknown parked dead discarded
    attempts: int
    at: Optional[str]
    host: str
    error: str


class Ticket(TypedDict, total=False):
    """The record of one task on one asset."""

    id: str
    asset: str
    task: str
    flow: str
    state: str
    token: int
    run: int
    revision: int
    steps: Dict[str, Step]
    failure: Optional[Dict[str, Any]]
    notification: Optional[Dict[str, Any]]
    delivery: Dict[str, Delivery]
    holder: Optional[Dict[str, Any]]
    summary: str
    created_at: str
    updated_at: str


class Next(TypedDict):
    """A step, or notify or finish, that a claim may do next, and the states that it may lead to."""

    step: str
    states: List[str]


class Error(Exception):
    """Anything that this file raises."""


class Unreachable(Error):
    """The daemon cannot be reached, or the connection broke: whether the call was done is not known. Every call may be repeated."""

    lost = False  # the daemon was connected to, and hung up without an answer


class Problem(Error):
    """What the daemon refused. `code` tells the kinds apart."""

    def __init__(self, status: int, fields: Dict[str, Any], retry_after: float = 0):
        self.status = status  # of HTTP
        self.code: str = fields.get("code") or "INTERNAL"
        self.detail: str = fields.get("detail") or "the answer is %d, not a problem of the daemon's" % status
        self.errors: List[Dict[str, str]] = fields.get("errors") or []  # with INVALID: location and message
        self.reason: str = fields.get("reason") or ""  # with CLAIM_LOST
        self.state: str = fields.get("state") or ""  # with ILLEGAL_TRANSITION
        self.allowed: List[Next] = fields.get("allowed") or []  # with ILLEGAL_TRANSITION
        self.holder: Optional[Dict[str, Any]] = fields.get("holder")  # with LOCK_HELD
        self.retry_after = retry_after  # seconds
        super().__init__("%s (%s)" % (self.detail, self.code))


class ClaimLost(Problem):
    """The claim is not held any more, or the write came too late. Nothing was written."""


class LockHeld(Problem):
    """Another holds the asset; `holder` says who, `retry_after` when its lock ends unless it is renewed."""


_kinds: Dict[str, Type[Problem]] = {"CLAIM_LOST": ClaimLost, "STALE_TOKEN": ClaimLost, "LOCK_HELD": LockHeld}


class Client:
    """A daemon's clients share nothing but its socket: one may be used by several threads."""

    def __init__(self, socket_path: Optional[str] = None, timeout: float = 30.0):
        """`socket_path` defaults to $PICKET_SOCKET, then /run/picket/picket.sock; `timeout` is of one call, beside its wait."""
        self.socket_path = socket_path or os.environ.get("PICKET_SOCKET") or DEFAULT_SOCKET
        self.timeout = timeout

    def claim(
        self,
        asset: str,
        task: str,
        *,
        wait: Optional[Duration] = None,
        flow: Optional[str] = None,
        pid: Optional[int] = None,
        heartbeat: Optional[Duration] = None,
        max_hold: Optional[Duration] = None,
        request: Optional[str] = None,
    ) -> "Claim":
        """Claim an asset for a task. Of a ticket that is finished already the claim is `done`, and nothing is held.

        Raises LockHeld when another holds it, after `wait` at most. When the answer is lost, with the daemon perhaps, the request is sent
        again under its name, `request`, for a while, and is answered with the claim that it was granted. Without one it is given one. An older
        daemon, which knows no names, gets it without one, and then it is not sent again."""
        end = time.monotonic() + _seconds(wait or 0)
        name: Optional[str] = request or secrets.token_hex(16)

        def ask() -> Any:
            body = {"asset": asset, "task": task, "flow": flow, "pid": pid, "request": name}
            body.update(heartbeat=_duration(heartbeat), max_hold=_duration(max_hold))
            left = max(end - time.monotonic(), 0.0)
            if wait is not None:
                body["wait"] = _duration(left)
            return self._once("POST", "/v1/claims", {k: v for k, v in body.items() if v is not None}, left)

        lost: Optional[float] = None  # since when an answer is
        while True:
            sent = _boottime()
            try:
                return Claim(self, self._follow(ask), sent if wait is None else None)
            except Problem as p:
                # A daemon that knows names takes one of 64 bytes.
                if name is None or len(name.encode()) > 64 or [e["location"] for e in p.errors] != ["body.request"]:
                    raise
                name = None
            except Unreachable as e:
                if e.lost and lost is None:
                    lost = time.monotonic()
                if name is None or lost is None or time.monotonic() - lost > FOLLOW_SECONDS:
                    raise
                time.sleep(0.02)

    def ticket(self, asset: str, task: str) -> Ticket:
        """Read a ticket, with no lock."""
        return self.call("GET", _path("tickets", asset, task))["ticket"]

    def history(self, asset: str, task: str) -> Dict[str, List[Dict[str, Any]]]:
        """Read what happened to a ticket: `events`, oldest first, and `refused`."""
        return self.call("GET", _path("tickets", asset, task) + "/history")

    def status(self) -> Dict[str, Any]:
        """Read the daemon's own state."""
        return self.call("GET", "/v1/status")

    def call(self, method: str, path: str, body: Optional[Dict[str, Any]] = None, wait: float = 0) -> Any:
        """Make one call of the API, for those that have no method here. It follows a daemon that is being restarted."""
        return self._follow(lambda: self._once(method, path, body, wait))

    def _follow(self, request: Any) -> Any:
        start = time.monotonic()
        while True:
            try:
                return request()
            except Problem as p:
                if p.code not in ("DRAINING", "TOO_MANY_CALLS") or time.monotonic() - start + p.retry_after > FOLLOW_SECONDS:
                    raise
                time.sleep(max(p.retry_after, 0.02))

    def _once(self, method: str, path: str, body: Optional[Dict[str, Any]], wait: float) -> Any:
        conn, connected = _Connection(self.socket_path, self.timeout + wait), False
        try:
            encoded = None if body is None else json.dumps(body, allow_nan=False).encode()
            conn.connect()
            connected = True
            conn.request(method, path, encoded, {} if encoded is None else {"Content-Type": "application/json"})
            answer = conn.getresponse()
            got = answer.read(MAX_ANSWER + 1)
        except (OSError, http.client.HTTPException) as e:
            unreachable = Unreachable("cannot call the daemon at %s: %s" % (self.socket_path, e))
            unreachable.lost = connected and not isinstance(e, socket.timeout)
            raise unreachable from e
        finally:
            conn.close()
        if len(got) > MAX_ANSWER:
            raise Error("cannot read the daemon's answer: it is larger than %d MiB" % (MAX_ANSWER >> 20))
        try:
            fields = json.loads(got) if got else {}
        except ValueError as e:
            fields = {}
            if answer.status < 300:
                raise Error("cannot read the daemon's answer: %s" % e) from e
        if answer.status < 300:
            return fields
        retry_after = answer.headers.get("Retry-After", "")
        kind = _kinds.get(fields.get("code", ""), Problem)
        raise kind(answer.status, fields, float(retry_after) if retry_after.isdigit() else 0.0)


class Claim:
    """A claim on an asset. As a context manager it is released at the end of the block."""

    def __init__(self, client: Client, answer: Dict[str, Any], sent: Optional[float]):
        self._client = client
        self._lock = threading.Lock()  # guards what follows
        self._deadline = 0.0  # of trust, on CLOCK_BOOTTIME
        claim = answer["claim"] or {}
        self.id: str = claim.get("id", "")  # empty when the ticket was finished already
        self.token: int = claim.get("token", 0)  # the fencing token
        self.ticket: Ticket = answer["ticket"]
        self.next: List[Next] = answer["next"]
        self.released = not self.id
        if sent is not None and self.id:
            self._deadline = sent + claim["trusted_ms"] / 1000

    @property
    def done(self) -> bool:
        """Whether there was nothing left to do: the ticket is finished or failed, and no claim was made."""
        return not self.id

    @property
    def state(self) -> str:
        """The ticket's state, as last answered."""
        return self.ticket["state"]

    def recorded(self, step: str) -> Optional[Step]:
        """What is recorded of a step, by this claim or an earlier one; None if it is still to be done."""
        return self.ticket["steps"].get(step)

    def step(self, step: str, state: str, facts: Optional[Facts] = None, summary: str = "") -> Ticket:
        """Record a step's result. The same again is answered as before."""
        return self._write("/steps", {"step": step, "state": state, "facts": facts, "summary": summary})

    def fail(self, step: str, error: object, final: bool = False) -> Ticket:
        """Record that a step did not succeed. With `final` the ticket becomes FAILED; else a later claim tries again."""
        text = _cut(_plain(str(error)) or type(error).__name__, 4096)
        return self._write("/failures", {"step": step, "error": text, "final": final or None})

    def notify(
        self,
        title: str,
        text: str,
        severity: str,
        facts: Optional[Facts] = None,
        channels: Optional[List[str]] = None,
        wait: Duration = 0,
    ) -> Ticket:
        """Have people told. When this returns, the notification is on disk and will arrive; `wait` waits for it, at most so long."""
        body = {"title": title, "text": text, "severity": severity, "facts": facts, "channels": channels}
        seconds = _seconds(wait)
        query = "?wait=" + _duration(seconds) if seconds > 0 else ""
        return self._write("/notification" + query, body, seconds)

    def finish(self, summary: str = "") -> Ticket:
        """Finish the ticket and release the claim."""
        ticket = self._write("/finish", {"summary": summary})
        self.released = True
        return ticket

    def release(self) -> None:
        """Give the claim back and leave the ticket as it is. It does nothing when there is no claim any more."""
        if not self.released:
            self._client.call("DELETE", "/v1/claims/" + self.id)
            self.released = True

    def heartbeat(self) -> float:
        """Give a sign of life. It returns for how many seconds the claim can be relied upon: its lock, its heartbeat, its max_hold."""
        sent = _boottime()
        return self._trust(self._client.call("POST", "/v1/claims/%s/heartbeat" % self.id)["claim"], sent)

    def check(self) -> float:
        """Ask whether the claim is held, and for how many seconds it can be relied upon. It raises ClaimLost if it is not."""
        sent = _boottime()
        claim = self._client.call("GET", "/v1/claims/" + self.id)["claim"]
        if claim["status"] != "held":
            detail = "the claim on %s is %s (%s)" % (self.ticket["id"], claim["status"], claim["reason"])
            raise ClaimLost(409, {"code": "CLAIM_LOST", "detail": detail, "reason": claim["reason"]})
        return self._trust(claim, sent)

    def trusted(self) -> bool:
        """Whether the claim can be relied upon now, by what the daemon last said; it is asked when that has run out."""
        with self._lock:
            if _boottime() < self._deadline:
                return True
        try:
            return self.check() > 0
        except (ClaimLost, Unreachable):
            return False

    def __enter__(self) -> "Claim":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            self.release()
        except Error:
            if kind is None:
                raise  # else the first error says more

    def _write(self, path: str, body: Dict[str, Any], wait: float = 0) -> Ticket:
        body = {k: v for k, v in body.items() if v is not None}
        answer = self._client.call("POST", "/v1/claims/" + self.id + path, body, wait)
        self.ticket = answer["ticket"]
        self.next = answer.get("next", self.next)
        return self.ticket

    def _trust(self, claim: Dict[str, Any], sent: float) -> float:
        with self._lock:  # counted from when the call was sent: a late answer does not prolong it
            self._deadline = max(self._deadline, sent + claim["trusted_ms"] / 1000)
            return self._deadline - _boottime()


class _Connection(http.client.HTTPConnection):
    """HTTP on a Unix socket. One for each call: the daemon knows a caller by its connection, and threads share nothing."""

    def __init__(self, path: str, timeout: float):
        super().__init__("picket", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        end = time.monotonic() + FOLLOW_SECONDS
        while True:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self.timeout)
            try:
                return self.sock.connect(self._path)
            except BlockingIOError:  # the socket's queue is full
                self.sock.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)


def _path(resource: str, asset: str, task: str) -> str:
    return "/v1/%s/%s/%s" % (resource, urllib.parse.quote(asset, safe=""), urllib.parse.quote(task, safe=""))


def _seconds(d: Duration) -> float:
    """A duration in seconds; one in words is the daemon's to check, but its size must be known for the time-out."""
    if isinstance(d, datetime.timedelta):
        return d.total_seconds()
    if not isinstance(d, str):
        return float(d)
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    total, rest = 0.0, d
    while rest:
        number = len(rest) - len(rest.lstrip("0123456789."))
        unit = rest[number:].lstrip("hms")
        name = rest[number : len(rest) - len(unit)]
        if name not in units or not number:
            raise ValueError("cannot read the duration %r: it is like 30s or 1h30m" % d)
        total += float(rest[:number]) * units[name]
        rest = unit
    return total


def _duration(d: Optional[Duration]) -> Optional[str]:
    if d is None or isinstance(d, str):
        return d
    return "%dms" % round(_seconds(d) * 1000)


_escapes = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")


def _plain(text: str) -> str:
    """What a program wrote to a terminal, without escape sequences and control characters but line feeds and tabs."""
    return "".join(c for c in _escapes.sub("", text) if c in "\n\t" or unicodedata.category(c) != "Cc").strip()


def _cut(text: str, limit: int) -> str:
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return encoded.decode()
    return encoded[: limit - 3].decode("utf-8", "ignore") + "…"


def _boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
