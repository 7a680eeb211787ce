// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"cmp"
	"net/http"

	"github.com/picketd/picket/audit"
	"github.com/picketd/picket/sockapi/client"
)

func postTest(c *call, _ noInput, b client.ChannelTestRequest) (answer, error) {
	severity := cmp.Or(b.Severity, client.SeverityInfo)
	c.api.Logger.Info("an administrator tests a channel", "channel", c.channel, "severity", severity, "by", c.by())
	t, err := c.api.TestChannel(c.request.Context(), c.channel, severity)
	if err == nil {
		c.api.Audit(audit.Event{Kind: audit.Tested, Channel: c.channel, Call: "testChannel", Agent: c.by(), Reason: t.Status})
	}
	return answer{status: http.StatusOK, body: &t}, err
}
