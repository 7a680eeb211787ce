// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/picketd/picket/agent/plain"
)

type nmapPort struct {
	Protocol string `xml:"protocol,attr"`
	ID       string `xml:"portid,attr"`
	State    struct {
		State string `xml:"state,attr"`
	} `xml:"state"`
	Service struct {
		Name      string `xml:"name,attr"`
		Product   string `xml:"product,attr"`
		Version   string `xml:"version,attr"`
		ExtraInfo string `xml:"extrainfo,attr"`
	} `xml:"service"`
	Scripts []nmapScript `xml:"script"`
}

// nmap walks through the XML that nmap -oX writes.
type nmap struct {
	dec      *xml.Decoder
	src      *characters
	into     *collector
	names    []string // of the host that is open
	looked   bool     // at a port, or with a script
	path     []string // the elements that are open
	address  string   // of the host that is open
	ended    bool     // runstats/finished was there
	complete error    // what runstats say
}

// parseNmap reads nmap's XML. nmap writes runstats last, so that an output without it was cut off, whatever else is there.
func parseNmap(src *source, into *collector) error {
	if b, err := src.first(); err != nil {
		return err
	} else if b != '<' {
		return errors.New("it is not XML")
	}
	in := &characters{source: src}
	n := &nmap{dec: xml.NewDecoder(in), src: in, into: into}
	n.dec.CharsetReader = func(label string, r io.Reader) (io.Reader, error) {
		if label = strings.ToLower(label); label == "utf-16" || label == "us-ascii" { // decoded already, or a part of UTF-8
			return r, nil
		}
		return nil, fmt.Errorf("its encoding is %q, known are UTF-8 and UTF-16", plain.Line(label, maxID))
	}
	if err := n.walk(); err != nil {
		return err
	}
	switch {
	case !n.ended:
		return errors.New("it has no runstats: nmap did not come to its end")
	case n.complete != nil:
		return n.complete
	case !n.looked:
		return errors.New("nmap looked at no port (-sn, -sL?): nothing was scanned")
	}
	return nil
}

func (n *nmap) walk() error {
	seen := false
	for {
		n.src.next()
		n.src.parts = 0
		token, err := n.dec.Token()
		if err == io.EOF && seen && len(n.path) == 0 {
			return nil
		}
		if err != nil {
			return n.explain(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if len(n.path) == 0 {
				if seen || token.Name.Local != "nmaprun" || attribute(token, "scanner") != "nmap" {
					return fmt.Errorf("its element <%s> is not nmap's <nmaprun>", plain.Line(token.Name.Local, maxID))
				}
				seen = true
			}
			if err := n.start(token); err != nil {
				return err
			}
		case xml.EndElement:
			if token.Name.Local == "host" && len(n.path) == 2 {
				n.into.hosts(n.names...)
			}
			n.path = n.path[:len(n.path)-1]
		case xml.CharData:
			if len(n.path) == 0 && strings.TrimSpace(string(token)) != "" {
				return errors.New("text stands outside of its elements")
			}
		}
	}
}

func (n *nmap) start(e xml.StartElement) error {
	if len(n.path) == maxXMLDepth {
		return fmt.Errorf("its elements are nested more than %d deep, which %w", maxXMLDepth, errLimit)
	}
	switch strings.Join(n.path, "/") + "/" + e.Name.Local {
	case "nmaprun/scaninfo", "nmaprun/host/ports", "nmaprun/host/hostscript":
		n.looked = true
	case "nmaprun/host":
		n.address, n.names = "", nil
		if attribute(e, "timedout") == "true" {
			return errors.New("nmap gave up a host (timedout): its scan is not complete")
		}
	case "nmaprun/host/address":
		if attribute(e, "addrtype") != "mac" && n.address == "" {
			n.address = attribute(e, "addr")
		}
		if attribute(e, "addrtype") != "mac" && len(n.names) < maxAliases {
			n.names = append(n.names, attribute(e, "addr"))
		}
	case "nmaprun/host/hostnames/hostname":
		if len(n.names) < maxAliases {
			n.names = append(n.names, attribute(e, "name"))
		}
	case "nmaprun/host/ports/port":
		var p nmapPort
		if err := n.dec.DecodeElement(&p, &e); err != nil {
			return n.explain(err)
		}
		return n.port(p)
	case "nmaprun/host/hostscript/script":
		var s nmapScript
		if err := n.dec.DecodeElement(&s, &e); err != nil {
			return n.explain(err)
		}
		return s.add(Finding{Location: n.address}, n.into)
	case "nmaprun/runstats/finished":
		n.ended = true
		if at, err := strconv.ParseInt(attribute(e, "time"), 10, 64); err == nil {
			n.into.made(time.Unix(at, 0))
		}
		if exit := attribute(e, "exit"); exit != "" && exit != "success" {
			n.complete = fmt.Errorf("nmap ended with %q: %s", plain.Line(exit, maxID), plain.Line(attribute(e, "errormsg"), maxTitle))
		}
	case "nmaprun/runstats/hosts":
		if attribute(e, "up") == "0" && n.complete == nil { // a name that means nothing, too, is a success to nmap
			n.complete = fmt.Errorf("of %s hosts none was up: nothing was scanned (-Pn scans what answers no ping)", plain.Line(attribute(e, "total"), maxID))
		}
	}
	n.path = append(n.path, e.Name.Local)
	return nil
}

// title says what answers at an open port.
func (p nmapPort) title() string {
	title := "Port " + p.ID + "/" + p.Protocol + " is open"
	s := p.Service
	what := join(s.Name, s.Product, s.Version)
	if s.ExtraInfo != "" {
		what = join(what, "("+s.ExtraInfo+")")
	}
	if what != "" {
		title += ": " + what
	}
	return title
}

// port makes an open port a finding for information, and takes what scripts found behind it.
func (n *nmap) port(p nmapPort) error {
	if p.State.State != "open" {
		return nil
	}
	f := Finding{
		ID:       "open-port",
		Severity: "info",
		Title:    p.title(),
		Package:  join(p.Service.Product, p.Service.Version),
		Location: net.JoinHostPort(n.address, p.ID) + "/" + p.Protocol,
	}
	if err := n.into.add(f); err != nil {
		return err
	}
	for _, s := range p.Scripts {
		if err := s.add(Finding{Package: f.Package, Location: f.Location}, n.into); err != nil {
			return err
		}
	}
	return nil
}

func (n *nmap) explain(err error) error {
	var syntax *xml.SyntaxError
	switch {
	case errors.As(err, &syntax) && syntax.Msg == "unexpected EOF":
		return n.src.explain(io.ErrUnexpectedEOF)
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not XML in line %d: %s", syntax.Line, syntax.Msg)
	}
	return n.src.explain(err)
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
