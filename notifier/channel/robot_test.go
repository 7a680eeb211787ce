// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package channel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picketd/picket/outbox"
)

// at makes a robot whose server answers with status and body.
func at(t *testing.T, kind string, serve http.HandlerFunc, change ...func(*Config)) *robot {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	return aRobot(t, kind, append(change, func(cc *Config) { cc.URL = server.URL + "/hook?key=topsecret" })...)
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func sendTo(t *testing.T, s Sender, timeout time.Duration) Result {
	t.Helper()
	return sendMessage(t, s, someMessage, timeout)
}

func sendMessage(t *testing.T, s Sender, m Message, timeout time.Duration) Result {
	t.Helper()
	body, err := s.Render(m)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), timeout, errors.New("the time-out is over"))
	defer cancel()
	return s.Send(ctx, Delivery{Key: m.Key, Body: body})
}

// TestEveryCodeOfTheRobots goes through the codes that their documentation names, inside HTTP 200 and outside.
func TestEveryCodeOfTheRobots(t *testing.T) {
	t.Parallel()
	dead, later := Result{Status: outbox.Dead}, Result{Status: outbox.Pending, Doubtful: true}
	mend := Result{Status: outbox.Pending}
	slow := func(d time.Duration) Result { return Result{Status: outbox.Pending, RetryAfter: d} }
	robots := map[string]*robotCodes{"wecom": &wecomCodes, "dingtalk": &dingtalkCodes, "feishu": &feishuCodes}
	tests := map[string]map[int]Result{
		"wecom": {
			-1: later, 0: sentResult, 40008: dead, 40035: dead, 40058: dead, 44004: dead, 45002: dead, 45009: slow(time.Minute),
			45033: slow(time.Minute), 60020: mend, 93000: dead, 93004: dead, 93008: dead, 123456: later,
		},
		"dingtalk": {
			-1: later, 0: sentResult, 40035: dead, 130101: slow(10 * time.Minute), 300001: dead, 300005: dead, 310000: mend,
			400013: dead, 400101: dead, 400102: dead, 400105: dead, 400106: dead, 410100: slow(10 * time.Minute), 430101: dead,
			430102: dead, 430103: dead, 430104: dead, 460101: dead, 123456: later,
		},
		"feishu": {
			0: sentResult, 2200: later, 9499: mend, 11232: slow(10 * time.Second), 19001: dead, 19002: dead, 19021: mend,
			19022: mend, 19024: dead, 99991400: slow(10 * time.Second), 123456: later,
		},
	}
	for kind, codes := range tests {
		for code := range robots[kind].of {
			if _, tested := codes[code]; !tested {
				t.Errorf("%s' code %d is not tested", kind, code)
			}
		}
		form := `{"errcode":%d,"errmsg":"what it is, from topsecret"}`
		if kind == "feishu" {
			form = `{"code":%d,"data":{},"msg":"what it is, from topsecret"}`
		}
		for code, want := range codes {
			for _, status := range []int{200, 400} {
				switch {
				case status == 400 && code == 0, status == 400 && code == 123456:
					want = dead // the status says so
				}
				got := sendTo(t, at(t, kind, says(status, fmt.Sprintf(form, code))), time.Minute)
				if want.Status != outbox.Sent && (!strings.Contains(got.Error, "what it is, from [secret]") || !strings.Contains(got.Error, strconv.Itoa(code))) ||
					strings.Contains(got.Error, "topsecret") {
					t.Errorf("%s %d with HTTP %d says %q", kind, code, status, got.Error)
				}
				got.Error = ""
				if got != want {
					t.Errorf("%s %d with HTTP %d is %+v, want %+v", kind, code, status, got, want)
				}
			}
		}
	}
}

// What a person or time can mend is tried again; what is wrong with the text is not.
func TestACodeWithTwoMeanings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, body string
		want       outbox.Status
	}{
		{"dingtalk", `{"errcode":310000,"errmsg":"invalid timestamp"}`, outbox.Pending},
		{"dingtalk", `{"errcode":310000,"errmsg":"description:机器人发送签名过期;solution:签名生成时间和发送时间请保持在1小时以内"}`, outbox.Pending},
		{"dingtalk", `{"errcode":310000,"errmsg":"sign not match"}`, outbox.Pending},
		{"dingtalk", `{"errcode":310000,"errmsg":"keywords not in content"}`, outbox.Dead},
		{"dingtalk", `{"errcode":310000,"errmsg":"description:关键词不匹配"}`, outbox.Dead},
		{"feishu", `{"code":19021,"msg":"sign match fail or timestamp is not within one hour from current time"}`, outbox.Pending},
		{"feishu", `{"code":9499,"msg":"too many request","data":{}}`, outbox.Pending},
		{"feishu", `{"code":19024,"msg":"Key Words Not Found"}`, outbox.Dead},
	} {
		for _, status := range []int{200, 400} {
			if got := sendTo(t, at(t, c.kind, says(status, c.body)), time.Minute); got.Status != c.want || got.Doubtful {
				t.Errorf("%s with HTTP %d and %s is %+v, want %s", c.kind, status, c.body, got, c.want)
			}
		}
	}
}

func TestAnswersThatAreNoRobots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   outbox.Status
	}{
		{200, "<html>log in to this network</html>", outbox.Unknown},
		{200, "", outbox.Unknown},
		{200, `{"errcode":`, outbox.Unknown},
		{200, `{"ok":true}`, outbox.Unknown},
		{200, `{"StatusCode":0,"StatusMessage":"success"}`, outbox.Sent},
		{404, "nothing here", outbox.Dead},
		{502, "<html>bad gateway</html>", outbox.Pending},
		{302, "", outbox.Dead},
	} {
		if got := sendTo(t, at(t, "feishu", says(c.status, c.body)), time.Minute); got.Status != c.want {
			t.Errorf("HTTP %d %q is %+v, want %s", c.status, c.body, got, c.want)
		}
	}
	for body, want := range map[string]outbox.Status{"ok": outbox.Sent, "": outbox.Sent, "no_service": outbox.Sent} { // its status says all
		if got := sendTo(t, at(t, "slack", says(200, body)), time.Minute); got.Status != want {
			t.Errorf("slack's %q is %+v", body, got)
		}
	}
	if got := sendTo(t, at(t, "slack", says(410, "channel_is_archived")), time.Minute); got.Status != outbox.Dead || !strings.HasSuffix(got.Error, ": channel_is_archived") {
		t.Errorf("slack's archived channel is %+v", got)
	}
}

// A robot's code is in its body, so a body that does not come leaves it unknown.
func TestARobotThatAnswersAByteAtATime(t *testing.T) {
	t.Parallel()
	url := raw(t, func(c net.Conn) {
		read(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"errcode\"")
		trickle(c)
	})
	r := aRobot(t, "wecom", func(cc *Config) { cc.URL = url })
	if got := sendTo(t, r, 6*time.Second); got.Status != outbox.Unknown {
		t.Errorf("got %+v", got)
	}
}

// The signs were made with another program, by the rules that DingTalk and Feishu give.
func TestSigns(t *testing.T) {
	t.Parallel()
	to, body := dingtalk.sign("this is secret", time.UnixMilli(1577262236757), "https://robots.example.com/send?access_token=x", []byte("{}"))
	if want := "https://robots.example.com/send?access_token=x&timestamp=1577262236757&sign=hmPWwU%2B7lVdm3ZZz0r9tSfx0L4Q26jWOZr9%2BGs6EZQM%3D"; to != want || string(body) != "{}" {
		t.Errorf("got %s %s", to, body)
	}
	to, body = feishu.sign("this is secret", time.Unix(1599360473, 0), "https://robots.example.com/x", []byte(`{"a":1}`))
	if want := `{"timestamp":"1599360473","sign":"/eYKrXQBzTjUZJ3s6NX16VxGbTwmK7AEs8/FnvC1CSw=","a":1}`; string(body) != want || to != "https://robots.example.com/x" {
		t.Errorf("got %s %s", to, body)
	}
}

// What a receiver demands per attempt changes, nothing else.
func TestOnlyTimeAndSignChange(t *testing.T) {
	t.Parallel()
	file := write(t, "SEC-abc\n")
	secret := func(cc *Config) { cc.SecretFile = file }
	var got []*http.Request
	var bodies [][]byte
	keep := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got, bodies = append(got, r), append(bodies, body)
			_, _ = io.WriteString(w, answer)
		}
	}
	r := at(t, "dingtalk", keep(`{"errcode":0}`), secret)
	frozen := rendered(t, r, someMessage)
	sendTo(t, r, time.Minute)
	q := got[0].URL.Query()
	ms, err := strconv.ParseInt(q.Get("timestamp"), 10, 64)
	if err != nil || time.Since(time.UnixMilli(ms)).Abs() > time.Minute || q.Get("key") != "topsecret" ||
		q.Get("sign") != hmacOf("SEC-abc", q.Get("timestamp")+"\nSEC-abc") || string(bodies[0]) != frozen {
		t.Errorf("dingtalk got %s %s", got[0].URL, bodies[0])
	}

	r = at(t, "feishu", keep(`{"code":0}`), secret)
	frozen = rendered(t, r, someMessage)
	sendTo(t, r, time.Minute)
	var signed struct{ Timestamp, Sign string }
	if err := json.Unmarshal(bodies[1], &signed); err != nil {
		t.Fatal(err)
	}
	s, err := strconv.ParseInt(signed.Timestamp, 10, 64)
	prefix := `{"timestamp":"` + signed.Timestamp + `","sign":"` + signed.Sign + `",`
	if err != nil || time.Since(time.Unix(s, 0)).Abs() > time.Minute || signed.Sign != hmacOf(signed.Timestamp+"\nSEC-abc", "") ||
		string(bodies[1]) != prefix+frozen[1:] || len(bodies[1]) > 20<<10 {
		t.Errorf("feishu got %s", bodies[1])
	}
	for _, r := range got {
		if r.Header.Get("Idempotency-Key") != `"`+someMessage.Key+`"` || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("it got %v", r.Header)
		}
	}
}

func TestRobotsKeepTheirLimitsUnasked(t *testing.T) {
	t.Parallel()
	perMinute := Rate{20, time.Minute}
	for _, c := range []struct {
		kind, rate string
		want       []Rate
	}{
		{"wecom", "", []Rate{perMinute}},
		{"dingtalk", "", []Rate{perMinute}},
		{"feishu", "", []Rate{{100, time.Minute}, {5, time.Second}}},
		{"wecom", "3/s", []Rate{{3, time.Second}}},
		{"slack", "", nil},
		{"slack", "999999/h", []Rate{{999_999, time.Hour}}},
	} {
		ch, problems := New(Config{Name: "a", Type: c.kind, URL: "https://robots.example.com/", Rate: c.rate}, Env{})
		if len(problems) > 0 || !slices.Equal(ch.Rates, c.want) {
			t.Errorf("%s %q lets %v through, want %v; %v", c.kind, c.rate, ch.Rates, c.want, problems)
		}
	}
	for _, bad := range []string{"fast", "0/m", "1000000/m", "20", "20/d", "-1/s", "20/m ", "20/", "/m", "20/m/s", "1.5/m", "20 /m"} {
		if wrongIn(Config{Name: "a", Type: "log", Rate: bad}) == "" {
			t.Errorf("%q is taken for a rate", bad)
		}
	}
}
