// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

// ChannelTestRequest is the body of a test of a channel.
type ChannelTestRequest struct {
	Severity string `json:"severity,omitempty" enum:"info,low,medium,high,critical" doc:"How bad the message says that it is. Defaults to info."`
}

// ChannelTest answers POST /v1/channels/{name}/test: what became of a test message.
type ChannelTest struct {
	Channel      string `json:"channel"`
	Type         string `json:"type"`
	ID           string `json:"id" doc:"By which people recognise the message: it stands in its text, and in webhook-id behind msg_."`
	Status       string `json:"status" enum:"sent,pending,unknown,dead" doc:"pending: not now, a notification would be sent again; dead: refused for good."`
	Error        string `json:"error" doc:"What came back, without secrets; empty when it was accepted."`
	RetryAfterMS int64  `json:"retry_after_ms" doc:"How long the receiver wants to be left alone, or the channel's rate lasts; else 0."`
	TookMS       int64  `json:"took_ms"`
}
