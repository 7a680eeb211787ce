// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/picketd/picket/sockapi/client"
)

// configuration is the name of the warnings that may say which files can be read by whom.
const configuration = "configuration"

// visible leaves out of warnings what only root and admins need to know.
func (c *call) visible(warnings []client.Warning) []client.Warning {
	if c.isAdmin() {
		return warnings
	}
	warnings = slices.Clone(warnings)
	for i := range warnings {
		if warnings[i].Name == configuration {
			warnings[i].Message = "something in the configuration is unwise; root and admins are told what, and the daemon's log says it"
		}
	}
	return slices.CompactFunc(warnings, func(a, b client.Warning) bool { return a.Name == configuration && b.Name == configuration })
}

func getStatus(c *call, _, _ noInput) (answer, error) {
	st := c.api.Status()
	st.Warnings, st.Admin = c.visible(st.Warnings), c.isAdmin()
	return answer{status: http.StatusOK, body: &st}, nil
}

func getLive(*call, noInput, noInput) (answer, error) {
	return answer{status: http.StatusOK, text: "ok\n"}, nil
}

type readyQuery struct {
	Verbose bool `json:"verbose,omitempty" doc:"Answer every check as JSON, instead of a line of text."`
}

func getReady(c *call, q readyQuery, _ noInput) (answer, error) {
	checks := c.api.Ready(c.request.Context())
	body := client.Readiness{Ready: true, Checks: append([]client.Check{}, checks...), Warnings: []client.Warning{}}
	var failed []string
	for _, check := range checks {
		if !check.OK {
			failed = append(failed, fmt.Sprintf("%s: %s", check.Name, check.Error))
		}
	}
	a := answer{status: http.StatusOK, text: "ok\n"}
	if len(failed) > 0 {
		body.Ready = false
		a = answer{status: http.StatusServiceUnavailable, text: "not ready: " + strings.Join(failed, "; ") + "\n"}
	}
	if q.Verbose && c.api.Warnings != nil {
		body.Warnings = append(body.Warnings, c.visible(c.api.Warnings())...)
	}
	if q.Verbose {
		a.text, a.body = "", &body
	}
	return a, nil
}

func getMetrics(c *call, _, _ noInput) (answer, error) {
	return answer{status: http.StatusOK, page: c.api.Metrics}, nil
}

func getDocument(c *call, _, _ noInput) (answer, error) {
	return answer{status: http.StatusOK, page: c.api.document}, nil
}
