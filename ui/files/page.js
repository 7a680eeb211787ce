// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

// Fetches the page again while one looks, and puts in its live part what came. When nothing comes, it says so, and since when what is
// shown is old: counted by a clock that nobody sets, from the server's time.
"use strict";

const every = 3000; // ms between two looks, and ten times what the last one took
const patience = 30000; // ms that an answer may take
const live = document.getElementById("live");
const stale = document.getElementById("stale");
let shownAt = performance.now();

// morph makes old like fresh, node by node, so that focus, selection and what is unfolded stay.
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...(old.attributes ?? [])]) {
    if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes ?? []) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const were = [...old.childNodes];
  const are = [...fresh.childNodes];
  are.forEach((node, i) => (were[i] ? morph(were[i], node) : old.append(node)));
  were.slice(are.length).forEach((node) => node.remove());
}

async function look() {
  const began = performance.now();
  let trouble = "picket ui does not answer; it may have been ended";
  try {
    const answer = await fetch(location.href, { signal: AbortSignal.timeout(patience), headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("live");
    if (answer.ok && fresh) {
      trouble = "";
      if ("trouble" in live.dataset) location.reload();
      morph(live, fresh);
      document.getElementById("asof").textContent = page.getElementById("asof").textContent;
      shownAt = began;
    } else {
      trouble = fresh?.dataset.trouble || "picket ui was started anew: open the address that it has printed";
    }
  } catch (e) {
    // picket ui is away: that is what trouble says
  }
  stale.hidden = !trouble || "trouble" in live.dataset; // a page that says by itself what is wrong needs no banner
  if (!stale.hidden) {
    const old = Math.round((performance.now() - shownAt) / 1000);
    stale.textContent = `Not updated since ${live.dataset.now} UTC, ${old} s ago: ${trouble}`;
  }
  document.body.classList.toggle("old", !stale.hidden);
  setTimeout(look, Math.max(every, 10 * (performance.now() - began)));
}

if (!("still" in live.dataset)) setTimeout(look, every);
