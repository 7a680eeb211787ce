# SPDX-License-Identifier: Apache-2.0
# Copyright The Picket Authors
"""Tests of the client against the daemon at $PICKET_SOCKET."""

import datetime
import json
import os
import socket
import tempfile
import threading
import time
import unittest

import picket


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.client = picket.Client()
        self.asset = self.id().rpartition(".")[2].replace("_", " ")

    def test_a_claim_resumes_and_finishes(self):
        with self.client.claim(self.asset, "t") as first:
            self.assertTrue(first.trusted())
            self.assertEqual((first.state, first.done), ("INIT", False))
            first.step("online", "ASSET_ONLINE", {"port": 22, "text": "ü\u2028"}, summary="here")
            self.assertEqual(first.next, [{"step": "vuln", "states": ["VULN_CHECK_DONE"]}])
            first.fail("vuln", OSError())
        with self.client.claim(self.asset, "t", wait="5s") as second:
            self.assertGreater(second.token, first.token)
            self.assertEqual(second.recorded("online")["facts"], {"port": 22, "text": "ü\u2028"})
            self.assertIsNone(second.recorded("vuln"))
            self.assertEqual(second.ticket["failure"]["error"], "OSError")
            second.step("vuln", "VULN_CHECK_DONE")
            self.assertEqual(second.finish("nothing")["state"], "FINISHED")
        third = self.client.claim(self.asset, "t")
        self.assertTrue(third.done)
        self.assertEqual(self.client.ticket(self.asset, "t")["summary"], "nothing")
        self.assertEqual(self.client.history(self.asset, "t")["events"][0]["event"], "claimed")

    def test_a_coloured_error_is_recorded(self):
        with self.client.claim(self.asset, "t") as claim:
            claim.fail("online", RuntimeError("\x1b[31mFATAL\x1b[0m no\0 templates\r\n"))
            self.assertEqual(claim.ticket["failure"]["error"], "FATAL no templates")
            claim.fail("online", RuntimeError("\x1b[0m"))
            self.assertEqual(claim.ticket["failure"]["error"], "RuntimeError")

    def test_people_are_told(self):
        with self.client.claim(self.asset, "t", heartbeat=datetime.timedelta(seconds=30)) as claim:
            self.assertGreater(claim.heartbeat(), 0)
            claim.step("online", "ASSET_ONLINE")
            claim.step("vuln", "VULN_CHECK_DONE")
            claim.step("assess", "HIGH_RISK_FOUND")
            ticket = claim.notify("title", "text", "critical", {"n": 1}, wait=20)
            self.assertEqual(ticket["state"], "NOTIFIED")
            self.assertEqual([d["status"] for d in ticket["delivery"].values()], ["sent"])

    def test_one_holds_it(self):
        with self.client.claim(self.asset, "t"):
            with self.assertRaises(picket.LockHeld) as caught:
                self.client.claim(self.asset, "other", wait=0.2)
        self.assertEqual(caught.exception.holder["pid"], os.getpid())

    def test_a_lost_claim_writes_nothing(self):
        claim = self.client.claim(self.asset, "t", max_hold="1s")
        while claim.trusted():
            time.sleep(0.05)
        for write in (claim.check, claim.heartbeat, lambda: claim.step("online", "ASSET_ONLINE"), claim.finish):
            with self.assertRaises(picket.ClaimLost) as caught:
                write()
            self.assertEqual(caught.exception.reason, "max_hold")
        self.assertEqual(self.client.ticket(self.asset, "t")["state"], "INIT")

    def test_mistakes_are_told(self):
        with self.client.claim(self.asset, "t") as claim:
            with self.assertRaises(picket.Problem) as caught:
                claim.step("assess", "FINISHED")
            self.assertEqual((caught.exception.code, caught.exception.state), ("ILLEGAL_TRANSITION", "INIT"))
            self.assertEqual(caught.exception.allowed[0]["step"], "online")
            with self.assertRaises(ValueError):
                claim.step("online", "ASSET_ONLINE", {"nan": float("nan")})
        with self.assertRaises(picket.Problem) as caught:
            self.client.claim(self.asset, "a/b")
        self.assertEqual((caught.exception.code, caught.exception.status), ("INVALID_TASK", 422))
        for wait in ("5", "s", "1d", "5 s"):
            with self.assertRaises(ValueError):
                self.client.claim(self.asset, "t", wait=wait)

    def test_an_error_in_the_block_releases(self):
        with self.assertRaises(ZeroDivisionError):
            with self.client.claim(self.asset, "t"):
                1 / 0
        self.client.claim(self.asset, "t").release()

    def test_a_full_queue_is_waited_for(self):
        with tempfile.TemporaryDirectory() as d, socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
            path = os.path.join(d, "s")
            listener.bind(path)
            listener.listen(0)
            first.connect(path)

            def serve():
                listener.accept()[0].close()
                with listener.accept()[0] as conn:
                    conn.recv(4096)
                    conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

            server = threading.Timer(0.1, serve)
            server.start()
            self.assertEqual(picket.Client(path).status(), {})
            server.join()

    def test_a_claim_whose_answer_is_lost_is_asked_for_again(self):
        with tempfile.TemporaryDirectory() as d, socket.socket(socket.AF_UNIX) as listener:
            path, names = os.path.join(d, "s"), []
            listener.bind(path)
            listener.listen(4)

            def serve():
                for answer in (b"", b'{"claim":{"id":"x","token":1},"ticket":{},"next":[]}'):
                    with listener.accept()[0] as conn:
                        got = b""
                        while not got.endswith(b"}"):
                            got += conn.recv(4096)
                        names.append(json.loads(got[got.index(b"{") :])["request"])
                        if answer:
                            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer))

            server = threading.Thread(target=serve)
            server.start()
            self.assertEqual(picket.Client(path).claim("a", "t", wait="5s").id, "x")
            server.join()
            self.assertEqual(names[0], names[1])

    def test_an_older_daemon_is_asked_without_a_name(self):
        refusal = {"code": "INVALID", "errors": [{"location": "body.request", "message": "is not a field"}]}
        answers = [(422, refusal), (200, {"claim": {"id": "x", "token": 1, "trusted_ms": 1}, "ticket": {}, "next": []}), (422, refusal)]
        with tempfile.TemporaryDirectory() as d, socket.socket(socket.AF_UNIX) as listener:
            path, asked = os.path.join(d, "s"), []
            listener.bind(path)
            listener.listen(4)

            def serve():
                for status, answer in answers:
                    with listener.accept()[0] as conn:
                        got = b""
                        while not got.endswith(b"}"):
                            got += conn.recv(4096)
                        asked.append("request" in json.loads(got[got.index(b"{") :]))
                        body = json.dumps(answer).encode()
                        conn.sendall(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))

            server = threading.Thread(target=serve)
            server.start()
            self.assertEqual(picket.Client(path).claim("a", "t").id, "x")
            with self.assertRaises(picket.Problem):
                picket.Client(path).claim("a", "t", request="n" * 65)
            server.join()
            self.assertEqual(asked, [True, False, True])

    def test_nobody_listens(self):
        with self.assertRaises(picket.Unreachable):
            picket.Client(os.path.join(tempfile.gettempdir(), "no.sock")).status()


if __name__ == "__main__":
    unittest.main()
