// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

// FlowAssetInference is the built-in flow, that of a claim which names none.
const FlowAssetInference = "asset-inference"

// The states of the flow asset-inference.
const (
	StateInit          = "INIT"
	StateAssetOnline   = "ASSET_ONLINE"
	StateAssetOffline  = "ASSET_OFFLINE"
	StateVulnCheckDone = "VULN_CHECK_DONE"
	StateHighRiskFound = "HIGH_RISK_FOUND"
	StateNotifying     = "NOTIFYING"
	StateNotified      = "NOTIFIED"
	StateFinished      = "FINISHED"
	StateFailed        = "FAILED"
)

// The steps of the flow asset-inference.
const (
	StepOnline = "online"
	StepVuln   = "vuln"
	StepIntel  = "intel"
	StepAssess = "assess"
)

// The calls that stand beside the steps in what may come next.
const (
	CallNotify = "notify"
	CallFinish = "finish"
)

// The severities of a notification.
const (
	SeverityInfo     = "info"
	SeverityLow      = "low"
	SeverityMedium   = "medium"
	SeverityHigh     = "high"
	SeverityCritical = "critical"
)

// Severities returns all severities, the lowest first.
func Severities() []string {
	return []string{SeverityInfo, SeverityLow, SeverityMedium, SeverityHigh, SeverityCritical}
}

// The statuses of a notification on a channel.
const (
	DeliveryPending   = "pending"
	DeliverySending   = "sending"
	DeliverySent      = "sent"
	DeliveryUnknown   = "unknown"   // an attempt ended without an outcome
	DeliveryParked    = "parked"    // unknown on a channel that is told at most once: a person decides
	DeliveryDead      = "dead"      // refused for good, or given up
	DeliveryDiscarded = "discarded" // given up by an administrator
)
