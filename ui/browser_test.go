// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browserLimit bounds each wait for something to appear in the browser, and tabLimit all that one test does there.
const (
	browserLimit = 2 * time.Minute
	tabLimit     = 8 * time.Minute
)

// tab is a tab of a real Chromium without a window. What its console says, and where its requests go, is checked at the end.
type tab struct {
	*testing.T
	ctx  context.Context
	root string // http://127.0.0.1:PORT

	mu    sync.Mutex
	said  []string // by its console, at a level of errors
	asked []string // addresses that left the pages
	aside func(string) bool
}

// openTab opens a tab at the first address of some pages.
func openTab(t *testing.T, first string) *tab {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("there is no chromium; .ci/deps installs it")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox) // for root; it sees these pages alone
	allocated, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocated)
	ctx, stop := context.WithTimeout(ctx, tabLimit)
	tb := &tab{T: t, ctx: ctx, root: first[:strings.Index(first, "/?")], aside: func(string) bool { return false }}
	t.Cleanup(func() {
		stop()
		cancel()
		end()
		tb.mu.Lock()
		defer tb.mu.Unlock()
		if len(tb.said) > 0 {
			t.Errorf("the console says %q", tb.said)
		}
		if len(tb.asked) > 0 {
			t.Errorf("requests leave the pages: %q", tb.asked)
		}
	})
	must(t, chromedp.Listen(ctx, tb.note))
	tb.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, log.Enable, cdp.Empty{})
		return err
	}))
	tb.do(chromedp.Navigate(first))
	return tb
}

// note keeps what the browser tells of errors and requests.
func (tb *tab) note(event any) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	say := func(text string) {
		if !tb.aside(text) {
			tb.said = append(tb.said, text)
		}
	}
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		say(e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		say(string(e.Type))
	case *log.EventEntryAdded:
		say(e.Entry.Text + " " + e.Entry.URL)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, tb.root+"/") {
			tb.asked = append(tb.asked, e.Request.URL)
		}
	}
}

func (tb *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tb.Helper()
	must(tb.T, chromedp.Do(tb.ctx, steps...))
}

func (tb *tab) open(path string) {
	tb.Helper()
	tb.do(chromedp.Navigate(tb.root + path))
}

// evaluate is what an expression in the page says.
func evaluate[R any](tb *tab, expression string) R {
	tb.Helper()
	got, err := chromedp.Run(tb.ctx, chromedp.Evaluate[R](expression, chromedp.EvalAwaitPromise))
	must(tb.T, err)
	return got
}

// text is an expression for what the page shows; while it is loaded there is none.
const text = `document.body?.innerText ?? ""`

// waits until the page shows a text.
func (tb *tab) waits(want string) {
	tb.Helper()
	for end := time.Now().Add(browserLimit); ; time.Sleep(100 * time.Millisecond) {
		shown, err := chromedp.Run(tb.ctx, chromedp.Evaluate[string](text)) // there is none while the page is loaded anew
		if err == nil && strings.Contains(shown, want) {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("the page does not show %q: %v\n%s", want, err, shown)
		}
	}
}

// window gives the tab a width, and the colours of light or dark.
func (tb *tab) window(wide int64, scheme string) {
	tb.Helper()
	tb.do(chromedp.EmulateViewport(wide, 900), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// shoot leaves a picture of the whole page among the test's artefacts, which go test -artifacts keeps.
func (tb *tab) shoot(name string) {
	tb.Helper()
	picture, err := chromedp.Run(tb.ctx, chromedp.FullScreenshot(100))
	must(tb.T, err)
	must(tb.T, os.WriteFile(filepath.Join(tb.ArtifactDir(), name+".png"), picture, 0o600))
}

// The four windows in which everything can be used.
var windows = []struct {
	wide   int64
	scheme string
}{{400, "light"}, {400, "dark"}, {1600, "light"}, {1600, "dark"}}

// inspect looks at pages in each window: nothing is wider than the window, and axe finds nothing.
func (tb *tab) inspect(axe string, paths ...string) {
	tb.Helper()
	for _, path := range paths {
		tb.open(path)
		for _, w := range windows {
			tb.window(w.wide, w.scheme)
			name := fmt.Sprintf("%s-%d-%s", strings.Trim(strings.NewReplacer("/", "_", "?", "_", "&", "_").Replace(path), "_")+"page", w.wide, w.scheme)
			tb.shoot(name)
			if over := evaluate[float64](tb, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
				tb.Errorf("%s is %.0f pixels wider than the window", name, over)
			}
			if axe == "" {
				continue
			}
			found := evaluate[string](tb, axe+`;axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v =>
				v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html + " " + n.failureSummary).join(" | ")).join("\n"))`)
			if found != "" {
				tb.Errorf("%s: %s", name, found)
			}
		}
	}
}

// axe is the source of axe-core, or nothing where npm cannot install it. PICKET_NPM=demand forbids that.
var axe = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "axe-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "axe-core@4.14.1")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "NO_UPDATE_NOTIFIER=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot install axe-core: %w: %s", err, out)
	}
	source, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	return string(source), err
})

func axeOr(t *testing.T) string {
	t.Helper()
	source, err := axe()
	switch {
	case err != nil && os.Getenv("PICKET_NPM") == "demand":
		t.Fatal(err)
	case err != nil:
		t.Logf("accessibility is not checked: %v", err)
	}
	return source
}

// With hostile and with long texts in every field, no page runs anything of them, or is wider than its window.
func TestHostileTextsInABrowser(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	tb := openTab(t, l.root+"/?secret="+l.server.secret)
	for _, said := range []string{hostileText, strings.Repeat("long", 2500), strings.Repeat("数据库", 100)} {
		l.hostile(said)
		for _, path := range every {
			tb.open(path)
			tb.window(400, "light")
			if over := evaluate[float64](tb, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
				t.Errorf("%s is %.0f pixels wider than the window", path, over)
			}
			if scripts := evaluate[float64](tb, "document.scripts.length + document.images.length"); scripts != 1 {
				t.Errorf("%s has %.0f scripts and images", path, scripts)
			}
		}
	}
}

// A page says since when what it shows is old while the daemon or picket ui is away, and goes on when it is back. What has the focus
// and what is unfolded stays so.
func TestPageUpdatesItselfAndSaysWhenItCannot(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.hostile("first")
	tb := openTab(t, l.root+"/?secret="+l.server.secret)
	tb.aside = func(text string) bool { return strings.Contains(text, "503") } // the browser tells of the daemon's absence itself
	tb.open("/ticket?asset=a&task=t")
	evaluate[bool](tb, `document.querySelector("details").open = true; document.querySelector("summary").focus(); true`)
	l.hostile("second")
	tb.waits("second")
	if !evaluate[bool](tb, `document.querySelector("details").open && document.activeElement.tagName === "SUMMARY"`) {
		t.Error("focus or what was unfolded is lost")
	}
	_ = l.fake.server.Close()
	tb.waits("Not updated since")
	tb.waits("cannot reach the daemon")
	if !strings.Contains(evaluate[string](tb, text), "second") {
		t.Error("what was shown is gone")
	}
	tb.shoot("old")
	l.hostile("third")
	l.fake.start(t)
	tb.waits("third")
	if !evaluate[bool](tb, `document.getElementById("stale").hidden`) {
		t.Error("it still says that it is old")
	}
	_ = l.fake.server.Close()
	tb.open("/tasks") // a page that was opened while the daemon was away
	tb.waits("This cannot be shown")
	l.fake.start(t)
	tb.waits("How far")
}

// By keyboard alone: from the first key to the content, to a decision, and back.
func TestKeyboardAlone(t *testing.T) {
	t.Parallel()
	l := setup(t, false)
	l.fake.set("/v1/tickets", parked(1))
	l.fake.set("/v1/outbox/web-0000/w48/retry", struct{}{})
	tb := openTab(t, l.root+"/?secret="+l.server.secret)
	tb.open("/waiting")
	press := func(keys string) { tb.do(chromedp.KeyEvent(keys)) }
	on := func() string { return evaluate[string](tb, "document.activeElement.innerText") }
	press("\t")
	if on() != "To the content" {
		t.Errorf("the first key leads to %q", on())
	}
	press("\r")
	for range 30 {
		if press("\t"); on() == "Send again…" {
			break
		}
		if outline := evaluate[string](tb, "getComputedStyle(document.activeElement).outlineStyle"); outline == "none" {
			t.Errorf("nobody sees that %q has the focus", on())
		}
	}
	press("\r")
	tb.waits("Why?")
	press("mended")
	press("\t")
	press("\r")
	for end := time.Now().Add(browserLimit); ; time.Sleep(50 * time.Millisecond) {
		l.fake.mu.Lock()
		posted := slices.Clone(l.fake.posted)
		l.fake.mu.Unlock()
		if len(posted) == 1 && strings.Contains(posted[0], `/retry {"reason":"mended"`) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("posted is %q", posted)
		}
	}
	tb.aside = func(text string) bool { return strings.Contains(text, "404") } // this daemon knows no such ticket
}

// pathOf is a ticket's page.
func pathOf(asset, task string) string {
	return "/ticket?" + url.Values{"asset": {asset}, "task": {task}}.Encode()
}
