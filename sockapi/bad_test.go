// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/picketd/picket/outbox"
	"github.com/picketd/picket/sockapi/client"
)

// secret stands in bodies where a value is wrong. No problem may repeat it.
const secret = "hunter2"

// bad is a request that must be refused.
type bad struct {
	name, method, path, body string
	code                     client.Code
	location                 string // of the first error, where there are any
}

// TestG11_BadRequestsChangeNothing sends what is wrong to every call, and compares Redis, the claims and the outbox before
// and after.
func TestG11_BadRequestsChangeNothing(t *testing.T) {
	t.Parallel()
	h := setup(t)
	claim := h.claim("held", "t")
	h.wants(h.do("POST", claim+"/steps", `{"step":"online","state":"ASSET_ONLINE"}`), http.StatusOK)
	before := h.snapshot()
	for _, b := range slices.Concat(badClaims(), badSteps(claim), badOthers(claim), badBodies(claim), badPaths(), badQueries(claim), badIDs(), badLists()) {
		t.Run(b.name, func(t *testing.T) {
			h := *h
			h.T = t
			p := h.refused(h.do(b.method, b.path, b.body), b.code)
			switch {
			case b.location == "" && len(p.Errors) > 0:
				t.Errorf("got errors %+v, want none", p.Errors)
			case b.location != "" && (len(p.Errors) == 0 || p.Errors[0].Location != b.location):
				t.Errorf("got errors %+v, want one at %s", p.Errors, b.location)
			case strings.Contains(p.Error(), secret):
				t.Errorf("the problem repeats a value: %s", p.Error())
			}
			after := h.snapshot()
			for what := range union(before, after) {
				if before[what] != after[what] {
					t.Errorf("%s has changed", what)
				}
			}
			before = after
		})
	}
}

// keys are those of all masters.
func (h *host) keys() (all []string) {
	h.Helper()
	var one sync.Mutex // a Cluster's masters answer at once
	ask := func(ctx context.Context, c *redis.Client) error {
		keys, err := c.Keys(ctx, "*").Result()
		one.Lock()
		defer one.Unlock()
		all = append(all, keys...)
		return err
	}
	var err error
	switch c := h.redis.(type) {
	case *redis.ClusterClient:
		err = c.ForEachMaster(h.Context(), ask)
	case *redis.Client:
		err = ask(h.Context(), c)
	}
	must(h.T, err)
	return all
}

// snapshot is all that a call could have changed: what Redis has of assets, the claims and the outbox. A refusal of the engine's own
// is recorded, and so is not looked at.
func (h *host) snapshot() map[string]string {
	h.Helper()
	all := make(map[string]string)
	for _, key := range h.keys() {
		var err error
		if !strings.HasPrefix(key, "picket:{") || strings.Contains(key, ":refused:") {
			continue // the daemon's own sign of life, its hints and indexes
		}
		if all[key], err = h.redis.Dump(h.Context(), key).Result(); err != nil {
			h.Fatal(err)
		}
	}
	for _, c := range h.server.config.Engine.Claims(0) {
		all["claim "+c.ID] = string(c.Status)
	}
	for _, origins := range [][]outbox.Origin{outbox.Unclosed(), {outbox.Closed}} {
		intents, _, err := h.server.config.Outbox.Find(origins, "", 1000)
		if err != nil {
			h.Fatal(err)
		}
		for _, in := range intents {
			all["intent "+in.ID] = string(in.Origin)
		}
	}
	return all
}

func union(a, b map[string]string) map[string]string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

func badClaims() (all []bad) {
	add := func(name, fields string, code client.Code, location string) {
		all = append(all, bad{"claim " + name, "POST", "/v1/claims", "{" + fields + "}", code, location})
	}
	const right = `"asset":"a","task":"t",`
	for name, asset := range map[string]string{
		"empty": "", "dot": ".", "dots": "..", "257 bytes": strings.Repeat("a", 257), "258 bytes in 86 characters": strings.Repeat("资", 86),
		"NUL": `a\u0000b`, "line feed": `a\nb`, "escape": `a\u001b`, "DEL": `a\u007f`, "C1": `a\u0085`,
		"space before": " a", "space after": "a ", "space alone": " ",
	} {
		add("asset "+name, `"asset":"`+asset+`","task":"t"`, client.InvalidAsset, "body.asset")
	}
	for name, task := range map[string]string{
		"empty": "", "dot": ".", "dots": "..", "129 bytes": strings.Repeat("t", 129), "slash": "a/b", "space": "a b",
		"Chinese": "扫描", "tilde": "t~2", "line feed": `t\n`,
	} {
		add("task "+name, `"asset":"a","task":"`+task+`"`, client.InvalidTask, "body.task")
	}
	add("nothing", ``, client.Invalid, "body.asset")
	add("no asset", `"task":"t"`, client.Invalid, "body.asset")
	add("no task", `"asset":"a"`, client.Invalid, "body.task")
	add("asset and task wrong", `"asset":"","task":""`, client.Invalid, "body.asset")
	for name, value := range map[string]string{
		"number": "17", "null": "null", "true": "true", "object": `{"a":"` + secret + `"}`, "array": `["` + secret + `"]`,
	} {
		add("asset a "+name, `"task":"t","asset":`+value, client.Invalid, "body.asset")
		add("wait a "+name, right+`"wait":`+value, client.Invalid, "body.wait")
		add("flow a "+name, right+`"flow":`+value, client.Invalid, "body.flow")
	}
	for _, name := range []string{"wait", "heartbeat", "max_hold"} {
		for _, d := range []string{"", "-1s", "-1ns", "1", "1 s", "forever", secret, "1e9s", "99999999999h", "+Inf", "NaN", "1h;", "1h-1m"} {
			add(name+" "+d, right+`"`+name+`":"`+d+`"`, client.Invalid, "body."+name)
		}
	}
	add("wait too long", right+`"wait":"10m0.000000001s"`, client.Invalid, "body.wait")
	add("heartbeat zero", right+`"heartbeat":"0s"`, client.Invalid, "body.heartbeat")
	add("heartbeat too short", right+`"heartbeat":"999ms"`, client.Invalid, "body.heartbeat")
	add("heartbeat too long", right+`"heartbeat":"24h0m1s"`, client.Invalid, "body.heartbeat")
	add("max_hold zero", right+`"max_hold":"0s"`, client.Invalid, "body.max_hold")
	add("max_hold over the ceiling", right+`"max_hold":"24h0m1s"`, client.Invalid, "body.max_hold")
	for _, pid := range []string{"0", "-1", "1.5", "1.0", "1e1", `"7"`, "null", "true", "99999999999999999999", "4194305", "2147483648"} {
		add("pid "+pid, right+`"pid":`+pid, client.Invalid, "body.pid")
	}
	add("flow empty", right+`"flow":""`, client.Invalid, "body.flow")
	add("flow long", right+`"flow":"`+strings.Repeat("f", 65)+`"`, client.Invalid, "body.flow")
	add("flow unknown", right+`"flow":"`+secret+`"`, client.UnknownFlow, "")
	add("uid", right+`"uid":0`, client.Invalid, "body.uid")
	add("unknown field", right+`"assets":"`+secret+`"`, client.Invalid, "body.assets")
	add("unknown field that is not plain", right+`"my `+secret+`":1`, client.Invalid, "body")
	add("another case", `"Asset":"`+secret+`","task":"t"`, client.Invalid, "body.Asset")
	add("all capitals", `"ASSET":"`+secret+`","task":"t"`, client.Invalid, "body.ASSET")
	add("a name with a space", right+`"wait ":"1s"`, client.Invalid, "body")
	add("a name twice", right+`"asset":"`+secret+`"`, client.Invalid, "body.asset")
	add("a name twice, once escaped", right+`"\u0061sset":"b"`, client.Invalid, "body.asset")
	add("a name with the long s", `"a\u017fset":"a","task":"t"`, client.Invalid, "body")
	return all
}

func badSteps(claim string) (all []bad) {
	add := func(name, fields string, code client.Code, location string) {
		all = append(all, bad{"step " + name, "POST", claim + "/steps", "{" + fields + "}", code, location})
	}
	const right = `"step":"vuln","state":"VULN_CHECK_DONE",`
	add("nothing", ``, client.Invalid, "body.step")
	add("empty", `"step":"","state":"VULN_CHECK_DONE"`, client.Invalid, "body.step")
	add("long", `"step":"`+strings.Repeat("s", 65)+`","state":"VULN_CHECK_DONE"`, client.Invalid, "body.step")
	add("control", `"step":"vu\tln","state":"VULN_CHECK_DONE"`, client.Invalid, "body.step")
	add("unknown", `"step":"`+secret+`","state":"VULN_CHECK_DONE"`, client.UnknownStep, "")
	add("no state", `"step":"vuln"`, client.Invalid, "body.state")
	add("state empty", `"step":"vuln","state":""`, client.Invalid, "body.state")
	add("state long", `"step":"vuln","state":"`+strings.Repeat("S", 65)+`"`, client.Invalid, "body.state")
	add("summary long", right+`"summary":"`+strings.Repeat("s", 4097)+`"`, client.Invalid, "body.summary")
	add("summary long in bytes", right+`"summary":"`+strings.Repeat("资", 1366)+`"`, client.Invalid, "body.summary")
	add("summary control", right+`"summary":"\u0007"`, client.Invalid, "body.summary")
	add("token", right+`"token":1`, client.Invalid, "body.token")
	for _, facts := range []string{"null", "[]", `"` + secret + `"`, "1", "true"} {
		add("facts "+facts, right+`"facts":`+facts, client.Invalid, "body.facts")
	}
	add("facts too deep", right+`"facts":`+nested(65), client.Invalid, "body.facts")
	add("facts far too deep", right+`"facts":`+nested(9000), client.Invalid, "body.facts")
	add("facts too large", right+`"facts":{"a":"`+strings.Repeat("x", maxFacts)+`"}`, client.Invalid, "body.facts")
	add("facts with a name twice", right+`"facts":{"a":[{"`+secret+`":1,"`+secret+`":1}]}`, client.Invalid, "body.facts")
	return all
}

// nested is an object of so many levels.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

func badOthers(claim string) (all []bad) {
	add := func(call, name, fields string, code client.Code, location string) {
		all = append(all, bad{call + " " + name, "POST", claim + "/" + call, "{" + fields + "}", code, location})
	}
	add("failures", "nothing", ``, client.Invalid, "body.step")
	add("failures", "no error", `"step":"vuln"`, client.Invalid, "body.error")
	add("failures", "error empty", `"step":"vuln","error":""`, client.Invalid, "body.error")
	add("failures", "error long", `"step":"vuln","error":"`+strings.Repeat("e", 4097)+`"`, client.Invalid, "body.error")
	add("failures", "error NUL", `"step":"vuln","error":"\u0000"`, client.Invalid, "body.error")
	add("failures", "final a string", `"step":"vuln","error":"e","final":"true"`, client.Invalid, "body.final")
	add("failures", "final null", `"step":"vuln","error":"e","final":null`, client.Invalid, "body.final")
	add("failures", "step unknown", `"step":"`+secret+`","error":"e"`, client.UnknownStep, "")
	const right = `"title":"t","text":"x","severity":"low",`
	add("notification", "nothing", ``, client.Invalid, "body.title")
	add("notification", "title empty", `"title":"","text":"x","severity":"low"`, client.Invalid, "body.title")
	add("notification", "title long", `"title":"`+strings.Repeat("t", 257)+`","text":"x","severity":"low"`, client.Invalid, "body.title")
	add("notification", "title of two lines", `"title":"a\r\nBcc: b","text":"x","severity":"low"`, client.Invalid, "body.title")
	add("notification", "text empty", `"title":"t","text":"","severity":"low"`, client.Invalid, "body.text")
	add("notification", "text long", `"title":"t","text":"`+strings.Repeat("t", 32<<10+1)+`","severity":"low"`, client.Invalid, "body.text")
	add("notification", "severity empty", `"title":"t","text":"x","severity":""`, client.Invalid, "body.severity")
	add("notification", "severity in capitals", `"title":"t","text":"x","severity":"HIGH"`, client.Invalid, "body.severity")
	add("notification", "severity unknown", `"title":"t","text":"x","severity":"`+secret+`"`, client.Invalid, "body.severity")
	add("notification", "facts an array", right+`"facts":[]`, client.Invalid, "body.facts")
	add("notification", "channels empty", right+`"channels":[]`, client.Invalid, "body.channels")
	add("notification", "channels a string", right+`"channels":"ops"`, client.Invalid, "body.channels")
	add("notification", "channels of numbers", right+`"channels":[1]`, client.Invalid, "body.channels")
	add("notification", "channels null", right+`"channels":[null]`, client.Invalid, "body.channels[0]")
	add("notification", "channel twice", right+`"channels":["ops","ops"]`, client.Invalid, "body.channels")
	add("notification", "channel long", right+`"channels":["`+strings.Repeat("c", 65)+`"]`, client.Invalid, "body.channels[0]")
	add("notification", "channel empty", right+`"channels":[""]`, client.Invalid, "body.channels[0]")
	add("notification", "channels many", right+`"channels":["`+strings.Repeat(`x","`, 64)+`y"]`, client.Invalid, "body.channels")
	add("notification", "channel unknown", right+`"channels":["`+secret+`"]`, client.UnknownChannel, "")
	add("notification", "too early", right[:len(right)-1], client.IllegalTransition, "")
	add("finish", "summary a number", `"summary":1`, client.Invalid, "body.summary")
	add("finish", "summary long", `"summary":"`+strings.Repeat("s", 4097)+`"`, client.Invalid, "body.summary")
	add("finish", "unknown field", `"state":"FINISHED"`, client.Invalid, "body.state")
	add("heartbeat", "unknown field", `"wait":"1s"`, client.Invalid, "body.wait")
	return all
}

// badBodies are wrong as bytes, for every call that takes a body.
func badBodies(claim string) (all []bad) {
	for call, right := range map[string]string{
		"/v1/claims": `"asset":"a","task":"t"`, claim + "/steps": `"step":"vuln","state":"VULN_CHECK_DONE"`,
		claim + "/failures": `"step":"vuln","error":"e"`, claim + "/finish": `"summary":"s"`, claim + "/heartbeat": ``,
		claim + "/notification": `"title":"t","text":"x","severity":"low"`,
	} {
		add := func(name, body string, code client.Code, location string) {
			short := call[strings.LastIndexByte(call, '/'):]
			all = append(all, bad{short + " " + name, "POST", call, body, code, location})
		}
		comma := right + ","
		if right == "" {
			comma = ""
		}
		add("spaces", " \n", client.BadRequest, "")
		add("not JSON", secret, client.BadRequest, "")
		add("form", "asset=a&task=t", client.BadRequest, "")
		add("cut off", "{"+right, client.BadRequest, "")
		add("a trailing comma", "{"+right+",}", client.BadRequest, "")
		add("a comment", "{"+right+"/* "+secret+" */}", client.BadRequest, "")
		add("two values", "{"+right+"}{"+right+"}", client.BadRequest, "")
		add("a value and a line", "{"+right+"}\nx", client.BadRequest, "")
		add("a byte order mark", "\ufeff{"+right+"}", client.BadRequest, "")
		add("NUL after it", "{"+right+"}\x00", client.BadRequest, "")
		add("an array", "["+"{"+right+"}"+"]", client.Invalid, "body")
		add("a string", `"`+secret+`"`, client.Invalid, "body")
		add("null", `null`, client.Invalid, "body")
		add("invalid UTF-8", "{"+comma+`"x":"`+"\xff"+`"}`, client.BadRequest, "")
		add("an overlong form", "{"+comma+`"x":"`+"\xc0\xaf"+`"}`, client.BadRequest, "")
		add("a surrogate in UTF-8", "{"+comma+`"x":"`+"\xed\xa0\x80"+`"}`, client.BadRequest, "")
		add("a lone surrogate", "{"+comma+`"x":"\ud800"}`, client.BadRequest, "")
		add("a lone second half", "{"+comma+`"x":"\udc00"}`, client.BadRequest, "")
		add("surrogates the wrong way", "{"+comma+`"x":"\udc00\ud800"}`, client.BadRequest, "")
		add("a lone surrogate in a name", "{"+comma+`"\ud83d":1}`, client.BadRequest, "")
		add("deep nesting", "{"+comma+`"x":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+"}", client.Invalid, "body.x")
		add("deeper than decoders go", strings.Repeat("[", 200_000), client.BadRequest, "")
		add("1 MiB and a byte", "{"+right+strings.Repeat(" ", maxBody-len(right)-1)+"}", client.BodyTooLarge, "")
		add("2 MiB", "{"+comma+`"x":"`+strings.Repeat("x", 2<<20)+`"}`, client.BodyTooLarge, "")
	}
	all = append(all, bad{"claims empty", "POST", "/v1/claims", "", client.BadRequest, ""})
	all = append(all, bad{"a body on a GET", "GET", "/v1/claims", "{}", client.Invalid, "body"})
	return append(all, bad{"a body on a DELETE", "DELETE", claim, `{"force":true}`, client.Invalid, "body"})
}

func badPaths() (all []bad) {
	for path, code := range map[string]client.Code{
		"/": client.NotFound, "/v1": client.NotFound, "/v1/": client.NotFound, "/v2/claims": client.NotFound,
		"/v1/claims/": client.ClaimNotFound, "/v1/tickets/a": client.NotFound, "/v1/tickets/a/t/x": client.NotFound,
		"/v1//tickets": client.NotFound, "//v1/tickets": client.NotFound, "/v1/../v1/tickets": client.NotFound,
		"/v1/./tickets": client.NotFound, "/v1/tickets/../tickets": client.NotFound, "/V1/tickets": client.NotFound,
		"/v1/tickets/": client.NotFound, "/v1/tickets//t": client.NotFound, "/v1/tickets/a/b/t": client.NotFound,
		"/v1/tickets/%2e/t": client.InvalidAsset, "/v1/tickets/%2E%2e/t": client.InvalidAsset, "/v1/tickets/%00/t": client.InvalidAsset,
		"/v1/tickets/%20a/t": client.InvalidAsset, "/v1/tickets/%ff/t": client.InvalidAsset, "/v1/tickets/a%0a/t": client.InvalidAsset,
		"/v1/tickets/" + strings.Repeat("a", 257) + "/t": client.InvalidAsset, "/v1/tickets/a/%2e%2e": client.InvalidTask,
		"/v1/tickets/a/": client.InvalidTask, "/v1/tickets/a/b%2Fc": client.InvalidTask, "/v1/outbox/a/%7e": client.InvalidTask,
		"/v1/claims/" + strings.Repeat("x", 1000): client.ClaimNotFound,
	} {
		var location string
		switch code {
		case client.InvalidAsset:
			location = "path.asset"
		case client.InvalidTask:
			location = "path.task"
		}
		all = append(all, bad{"GET " + path[:min(len(path), 40)], "GET", path, "", code, location})
	}
	for _, call := range []string{"PUT /v1/claims", "DELETE /v1/tickets/a/t", "POST /v1/status", "PATCH /v1/claims/x", "OPTIONS /livez", "GET /v1/claims/x/steps"} {
		method, path, _ := strings.Cut(call, " ")
		all = append(all, bad{call, method, path, "", client.MethodNotAllowed, ""})
	}
	return all
}

func badQueries(claim string) (all []bad) {
	add := func(path, query string, code client.Code, location string) {
		all = append(all, bad{"?" + query, "GET", path + "?" + query, "", code, location})
	}
	for _, d := range []string{"", "-1s", "10m1s", "1", "x", "99999999h", "1s%00"} {
		add(claim, "wait="+d, client.Invalid, "query.wait")
	}
	add(claim, "wait=1s&wait=2s", client.Invalid, "query.wait")
	add(claim, "Wait=1s", client.Invalid, "query.Wait")
	add(claim, "wait=%zz", client.Invalid, "query")
	add(claim, "wait=1s;x=1", client.Invalid, "query")
	add(claim, "force=true", client.Invalid, "query.force")
	add("/v1/claims", "uid=0", client.Invalid, "query.uid")
	for _, n := range []string{"0", "-1", "1001", "1.5", "x", "", "99999999999999999999"} {
		add("/v1/tickets", "limit="+n, client.Invalid, "query.limit")
	}
	add("/v1/tickets", "asset=", client.InvalidAsset, "query.asset")
	add("/v1/tickets", "asset=%ff", client.Invalid, "query.asset")
	add("/v1/tickets", "asset=..", client.InvalidAsset, "query.asset")
	add("/v1/tickets", "state=", client.Invalid, "query.state")
	add("/v1/tickets", "state=%0a", client.Invalid, "query.state")
	add("/v1/tickets", "cursor="+secret, client.Invalid, "query.cursor")
	add("/v1/tickets", "cursor="+strings.Repeat("c", 1025), client.Invalid, "query.cursor")
	add("/v1/tickets", "task=a/b", client.InvalidTask, "query.task")
	add("/v1/tickets", "since=yesterday", client.Invalid, "query.since")
	add("/v1/tickets", "host=", client.Invalid, "query.host")
	add("/v1/tickets", "failed=perhaps", client.Invalid, "query.failed")
	add("/v1/tasks", "limit=1001", client.Invalid, "query.limit")
	add("/v1/tasks", "cursor="+secret, client.Invalid, "query.cursor")
	add("/v1/outbox", "status=", client.Invalid, "query.status")
	add("/v1/outbox", "status=lost", client.Invalid, "query.status")
	add("/v1/status", "verbose", client.Invalid, "query.verbose")
	add("/livez", "x", client.Invalid, "query.x")
	all = append(all, bad{"POST with a query", "POST", "/v1/claims?asset=a", `{"asset":"a","task":"t"}`, client.Invalid, "query.asset"})
	return all
}

func badIDs() (all []bad) {
	add := func(name, fields, location string) {
		all = append(all, bad{"states " + name, "POST", "/v1/tickets/states", "{" + fields + "}", client.Invalid, location})
	}
	add("nothing", ``, "body.ids")
	add("none", `"ids":[]`, "body.ids")
	add("1,001", `"ids":["`+strings.Repeat(`a/t","`, 1000)+`a/t"]`, "body.ids")
	add("twice", `"ids":["a/t","a/t"]`, "body.ids")
	add("without a task", `"ids":["a/t","`+secret+`"]`, "body.ids[1]")
	add("no asset", `"ids":["a/t","/t"]`, "body.ids[1]")
	add("no string", `"ids":["a/t",null]`, "body.ids[1]")
	add("a task that is none", `"ids":["a/t","b/t","a/t~2"]`, "body.ids[2]")
	return all
}

func badLists() (all []bad) {
	add := func(name, method, path, fields, location string) {
		all = append(all, bad{name, method, "/v1/tasks/" + path, "{" + fields + "}", client.Invalid, location})
	}
	digest := strings.Repeat("0a", 32)
	add("a list of none", "PUT", "t/lists/"+digest, `"total":0`, "body.total")
	add("a list of too many", "PUT", "t/lists/"+digest, `"total":1048577`, "body.total")
	add("a list of which nobody knows how many", "PUT", "t/lists/"+digest, ``, "body.total")
	add("a short digest", "PUT", "t/lists/0a", `"total":1`, "path.digest")
	add("a digest in capitals", "PUT", "t/lists/"+strings.ToUpper(digest), `"total":1`, "path.digest")
	add("a chunk of none", "POST", "t/chunks", `"assets":[]`, "body.assets")
	add("a chunk of 1,001", "POST", "t/chunks", `"assets":["`+strings.Repeat(`a","`, 1000)+`a"]`, "body.assets")
	add("a chunk with an asset twice", "POST", "t/chunks", `"assets":["a","a"]`, "body.assets")
	add("a chunk of numbers", "POST", "t/chunks", `"assets":[1]`, "body.assets")
	report := `"list":"` + digest + `","total":1,"run":"r"`
	add("a report's name that is none", "PUT", "t/reports/a%2Fb", report, "path.report")
	add("a report of a list of none", "PUT", "t/reports/n", strings.Replace(report, "1", "0", 1), "body.total")
	add("a report of a list without a digest", "PUT", "t/reports/n", strings.Replace(report, "0a", "zz", 1), "body.list")
	add("a report without a run", "PUT", "t/reports/n", `"list":"`+digest+`","total":1`, "body.run")
	part := func(name, number, assets string, code client.Code, location string) {
		all = append(all, bad{name, "PUT", "/v1/lists/" + digest + "/parts/" + number, `{"assets":[` + assets + `]}`, code, location})
	}
	part("a part before the first", "-1", `"a"`, client.Invalid, "path.part")
	part("a part behind the last", "1049", `"a"`, client.Invalid, "path.part")
	part("a part with two names", "01", `"a"`, client.Invalid, "path.part")
	part("a part of none", "0", ``, client.Invalid, "body.assets")
	part("a part of 1,001", "0", strings.Repeat(`"a",`, 1000)+`"a"`, client.Invalid, "body.assets")
	part("a part with what is no asset", "0", `"a",".."`, client.InvalidAsset, "body.assets[1]")
	part("a part with a report", "0", `"a","list:n"`, client.Invalid, "body.assets[1]")
	all = append(all, bad{"a chunk with what is no asset", "POST", "/v1/tasks/t/chunks", `{"assets":["a",".."]}`, client.InvalidAsset, "body.assets[1]"})
	return all
}

// TestLimitsAreExact: what is just within a limit is taken.
func TestLimitsAreExact(t *testing.T) {
	t.Parallel()
	h := setup(t)
	asset, task := strings.Repeat("资", 85)+"x", strings.Repeat("t", 128)
	claim := h.claim(asset, task)
	facts := `{"a":"` + strings.Repeat("x", maxFacts-8) + `"}`
	h.wants(h.do("POST", claim+"/steps", `{"step":"online","state":"ASSET_ONLINE","facts":`+facts+`,"summary":"`+strings.Repeat("s", 4096)+`"}`), http.StatusOK)
	h.wants(h.do("POST", claim+"/steps", `{"step":"vuln","state":"VULN_CHECK_DONE","facts":`+nested(64)+`}`), http.StatusOK)
	h.wants(h.do("POST", claim+"/steps", `{"step":"assess","state":"HIGH_RISK_FOUND"}`), http.StatusOK)
	h.wants(h.do("POST", claim+"/failures", `{"step":"notify","error":"`+strings.Repeat("e", 4096)+`"}`), http.StatusOK)
	h.wants(h.do("POST", claim+"/notification", `{"title":"`+strings.Repeat("t", 256)+`","text":"`+strings.Repeat("x", 32<<10)+`","severity":"info","channels":["ops"]}`), http.StatusAccepted)
	body := `{"asset":"b","task":"t","heartbeat":"24h","max_hold":"24h","wait":"10m","flow":"asset-inference"}`
	h.wants(h.do("POST", "/v1/claims", body+strings.Repeat(" ", maxBody-len(body))), http.StatusCreated)
	h.wants(h.do("POST", "/v1/claims", `{"asset":"c","task":"t","heartbeat":"1s","max_hold":"1s","wait":"0s"}`), http.StatusCreated)
}
