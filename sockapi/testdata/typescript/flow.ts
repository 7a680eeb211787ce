// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Takes an asset through the whole flow with a client whose types are generated from the OpenAPI document.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import { Agent, fetch as request } from "undici";
import type { paths } from "./api.js";

const dispatcher = new Agent({ connect: { socketPath: process.argv[2] } });
const picket = createClient<paths>({
  baseUrl: "http://picket",
  fetch: async (r: Request) =>
    (await request(r.url, {
      method: r.method,
      headers: [...r.headers],
      body: r.body ? await r.text() : undefined,
      dispatcher,
    })) as unknown as Response,
});

const claimed = await picket.POST("/v1/claims", { body: { asset: "web/01", task: "w48", heartbeat: "1m" } });
assert(claimed.data?.claim, JSON.stringify(claimed.error));
const id = claimed.data.claim.id;
assert.deepEqual(claimed.data.next.map((n) => n.step), ["online"]);

const held = await picket.POST("/v1/claims", { body: { asset: "web/01", task: "w49", heartbeat: "1m" } });
assert.equal(held.error?.code, "LOCK_HELD");
assert.equal(held.response.status, 423);

for (const [step, state, facts] of [
  ["online", "ASSET_ONLINE", { port: 443 }],
  ["vuln", "VULN_CHECK_DONE", { max_cvss: 10 }],
  ["assess", "HIGH_RISK_FOUND", {}],
] as const) {
  const done = await picket.POST("/v1/claims/{id}/steps", { params: { path: { id } }, body: { step, state, facts } });
  assert.equal(done.data?.ticket.state, state, JSON.stringify(done.error));
}

const told = await picket.POST("/v1/claims/{id}/notification", {
  params: { path: { id } },
  body: { title: "RCE on web/01", text: "Patch it.", severity: "critical" },
});
assert.equal(told.response.status, 202, JSON.stringify(told.error));
assert.equal(told.data?.ticket.delivery?.ops?.status, "pending");

const finished = await picket.POST("/v1/claims/{id}/finish", { params: { path: { id } }, body: {} });
assert.equal(finished.data?.ticket.holder, null, JSON.stringify(finished.error));

const history = await picket.GET("/v1/tickets/{asset}/{task}/history", { params: { path: { asset: "web/01", task: "w48" } } });
assert.deepEqual(
  history.data?.events?.map((e) => e.event),
  ["claimed", "step", "step", "step", "notifying", "released"],
);
await dispatcher.close();
console.log("done");
