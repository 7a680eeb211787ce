#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Picket Authors
"""Take Picket's webhooks and handle each notification once: receiver.py ADDRESS SECRET_FILE LEDGER"""

import base64, hashlib, hmac, http.server, json, sqlite3, sys, threading, time

MOST = 4 << 20  # bytes of a body; Picket's are shorter
address, secret_file, ledger = sys.argv[1:]
with open(secret_file) as f:
    secret = base64.b64decode(f.read().strip().removeprefix("whsec_"))
db, lock = sqlite3.connect(ledger, check_same_thread=False), threading.Lock()
db.execute("CREATE TABLE IF NOT EXISTS handled (id TEXT PRIMARY KEY, title TEXT, at REAL)")


def signed(headers, body):
    at = headers["webhook-timestamp"]
    text = b".".join([headers["webhook-id"].encode(), at.encode(), body])
    want = b"v1," + base64.b64encode(hmac.new(secret, text, hashlib.sha256).digest())
    signatures = headers["webhook-signature"].encode().split()
    return abs(time.time() - int(at)) < 300 and any(hmac.compare_digest(want, s) for s in signatures)


class Receiver(http.server.BaseHTTPRequestHandler):
    timeout = 30  # seconds that a connection may be silent

    def do_POST(self):
        try:
            length = int(self.headers["content-length"])
            if not 0 <= length <= MOST:
                return self.answer(413, "the body is too long")
            body = self.rfile.read(length)
            if not signed(self.headers, body):  # a clock or a secret that a person can mend: it must come again
                return self.answer(503, "the clock or the secret differs")
            title = json.loads(body)["data"]["title"]
        except (AttributeError, KeyError, TypeError, ValueError):
            return self.answer(400, "not a signed notification")
        try:
            with lock, db:  # one transaction: what is done with the message, and the memory of its id
                db.execute("INSERT OR IGNORE INTO handled VALUES (?, ?, ?)", (self.headers["webhook-id"], title, time.time()))
        except sqlite3.Error as e:  # a full disk, say
            return self.answer(503, str(e))
        self.answer(204)  # also for what was handled before: it must not come again

    def answer(self, status, reason=""):
        self.close_connection = True  # what is left of a body is no next request
        self.send_response(status)
        if status == 503:
            self.send_header("Retry-After", "60")
        if reason:
            self.log_error("%s", reason)
        if status != 204:
            self.send_header("Content-Length", str(len(reason.encode())))
        self.end_headers()
        self.wfile.write(reason.encode())


host, _, port = address.rpartition(":")
server = http.server.ThreadingHTTPServer((host, int(port)), Receiver)
print(f"http://{host}:{server.server_port}", flush=True)
server.serve_forever()
