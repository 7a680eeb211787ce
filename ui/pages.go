// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package ui

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/picketd/picket/sockapi/client"
)

//go:embed files
var embedded embed.FS

// page is one of the pages: its address, its name, and what it shows. Its template is files/NAME.html.
type page struct {
	path, name, title string
	link              string // what leads to it says; empty: its title
	hidden            bool   // not among the links on top
	still             bool   // it does not update itself
	data              func(*visit) (any, error)
}

// allPages is the table of all pages, in the order of their links.
var allPages = []page{
	{path: "/{$}", name: "fleet", title: "Fleet", data: fleetPage},
	{path: "/waiting", name: "waiting", title: "Waiting for a person", link: "Waiting", data: waitingPage},
	{path: "/tasks", name: "tasks", title: "Tasks", data: tasksPage},
	{path: "/tickets", name: "tickets", title: "Tickets", data: ticketsPage},
	{path: "/reports", name: "reports", title: "Reports", data: reportsPage},
	{path: "/claims", name: "claims", title: "Locks and claims", data: claimsPage},
	{path: "/ticket", name: "ticket", title: "Ticket", hidden: true, data: ticketPage},
	{path: "/act", name: "act", title: "Decide", hidden: true, still: true, data: actPage},
}

// Config is what a Server is made with.
type Config struct {
	Client   *client.Client // of the daemon that is asked; it should have patience
	ReadOnly bool           // no decisions, whoever looks
	Report   Report         // nil: none can be read
}

// Report writes the report of a list in a task as a page in one file, without a script, and returns its content policy.
type Report func(ctx context.Context, w io.Writer, list, task string) (policy string, err error)

// book is what the pages are made with.
type book struct {
	client    *client.Client
	readOnly  bool
	report    Report
	token     string                        // in every form
	templates map[string]*template.Template // of the pages, by their names
	said      *sync.Map                     // what was decided, by a name that one address has; told once
}

func newBook(c Config, token string) book {
	return book{client: c.Client, readOnly: c.ReadOnly, report: c.Report, token: token, templates: templates(), said: new(sync.Map)}
}

// links are the pages to which all pages lead.
func links() (some []page) {
	for _, p := range allPages {
		if !p.hidden {
			some = append(some, p)
		}
	}
	return some
}

// Path is where a page's link leads.
func (p page) Path() string { return map[bool]string{true: "/", false: p.path}[p.path == "/{$}"] }

// Name is the page's.
func (p page) Name() string { return p.name }

// Link is what its link says.
func (p page) Link() string { return cmp.Or(p.link, p.title) }

// handler is that of all pages, and of the styles and the script.
func (b book) handler() http.Handler {
	mux := http.NewServeMux()
	for _, p := range allPages {
		mux.Handle("GET "+p.path, b.page(p))
	}
	mux.HandleFunc("POST /act", b.act)
	if b.report != nil {
		mux.HandleFunc("GET /report", b.showReport)
	}
	files, _ := fs.Sub(embedded, "files") // which is there
	for _, name := range []string{"style.css", "page.js", "icon.svg"} {
		mux.Handle("GET /"+name, http.FileServerFS(files))
	}
	return mux
}

// patience is how long a page waits for the daemon.
const patience = 15 * time.Second

// page is the handler of a page.
func (b book) page(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.show(w, r, p, p.data) })
}

// show answers with a page that shows data, or why there are none, or both.
func (b book) show(w http.ResponseWriter, r *http.Request, p page, data func(*visit) (any, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	v := &visit{Context: ctx, Client: b.client, readOnly: b.readOnly, query: r.URL.Query(), now: time.Now()}
	shown := view{Title: p.title, Page: p.name, Still: p.still, ReadOnly: b.readOnly, Token: b.token, Links: links()}
	if said, ok := b.said.LoadAndDelete(v.query.Get("done")); ok {
		shown.Notice = said.(string)
	}
	var err error
	if v.me, err = b.client.Status(ctx); err == nil {
		if offset := v.me.Redis.ClockOffsetMS; offset != nil {
			v.now = v.now.Add(time.Duration(*offset) * time.Millisecond)
		}
		shown.Data, err = data(v)
	}
	shown.Now, shown.Me, shown.MayAct = v.now, v.me, v.mayAct()
	status := http.StatusOK
	if err != nil {
		status, shown.Trouble = statusOf(err), err.Error()
	}
	var made bytes.Buffer
	if err := b.templates[p.name].Execute(&made, &shown); err != nil {
		http.Error(w, "the page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(visible(made.Bytes())) // who is gone needs no answer
}

// act makes a decision's call, and leads to the page that shows what came of it.
func (b book) act(w http.ResponseWriter, r *http.Request) {
	a, err := asked(r.URL.Query())
	a.Reason = r.PostFormValue("reason")
	if err == nil && b.readOnly {
		err = errReadOnly
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		err = a.call(ctx, b.client, a.subject)
	}
	if err != nil {
		b.show(w, r, pageNamed("act"), func(*visit) (any, error) { return a, err })
		return
	}
	back, _ := url.Parse(a.Back) // which link has made
	q := back.Query()
	name := rand.Text()
	b.said.Store(name, a.Done)
	q.Set("done", name)
	back.RawQuery = q.Encode()
	if a.Task != "" {
		back.Fragment = "history"
	}
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// reportTime bounds how long a report is read: its list may be long.
const reportTime = writeTime - 10*time.Second

// showReport answers with a report as it is, under its own policy and in no frame.
func (b book) showReport(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), reportTime, errors.New("it takes too long here: picket report NAME TASK --html writes it into a file"))
	defer cancel()
	q := r.URL.Query()
	var made bytes.Buffer
	policy, err := b.report(ctx, &made, q.Get("list"), q.Get("task"))
	if err != nil {
		b.show(w, r, pageNamed("reports"), func(*visit) (any, error) { return nil, err })
		return
	}
	w.Header().Set("Content-Security-Policy", policy+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(made.Bytes()) // who is gone needs no answer
}

// pageNamed is a row of allPages.
func pageNamed(name string) page {
	return allPages[slices.IndexFunc(allPages, func(p page) bool { return p.name == name })]
}

// templates are those of the pages, by their names.
func templates() map[string]*template.Template {
	all := map[string]*template.Template{}
	for _, p := range allPages {
		t := template.New("layout.html").Funcs(functions)
		all[p.name] = template.Must(t.ParseFS(embedded, "files/layout.html", "files/parts.html", "files/"+p.name+".html"))
	}
	return all
}

// statusOf is the HTTP status for what the daemon answered, or for its silence.
func statusOf(err error) int {
	var p *client.Problem
	if errors.As(err, &p) {
		return p.Code.Status()
	}
	return http.StatusServiceUnavailable
}
