// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

// maxXMLDepth bounds how deep elements may be nested; nmap itself needs about ten.
const maxXMLDepth = 64

// nmapScript is what a script of NSE found: in tables, and the same as text.
type nmapScript struct {
	ID     string `xml:"id,attr"`
	Output string `xml:"output,attr"`
	nmapTable
}

type nmapTable struct {
	Key   string `xml:"key,attr"`
	Elems []struct {
		Key  string `xml:"key,attr"`
		Text string `xml:",chardata"`
	} `xml:"elem"`
	Tables []nmapTable `xml:"table"`
}

func (t nmapTable) elem(key string) string {
	for _, e := range t.Elems {
		if e.Key == key {
			return e.Text
		}
	}
	return ""
}
