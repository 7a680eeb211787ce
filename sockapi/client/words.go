// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

// The built-in flows. FlowAssetInference is that of a claim which names none; FlowListReport is that of assets which begin with list:.
const (
	FlowAssetInference = "asset-inference"
	FlowListReport     = "list-report"
)

// The states of the built-in flows.
const (
	StateInit          = "INIT"
	StateAssetOnline   = "ASSET_ONLINE"
	StateAssetOffline  = "ASSET_OFFLINE"
	StateVulnCheckDone = "VULN_CHECK_DONE"
	StateHighRiskFound = "HIGH_RISK_FOUND"
	StateGathered      = "GATHERED"
	StateNotifying     = "NOTIFYING"
	StateNotified      = "NOTIFIED"
	StateFinished      = "FINISHED"
	StateFailed        = "FAILED"
)

// The steps of the built-in flows: StepGather is that of list-report, the others are those of asset-inference.
const (
	StepOnline = "online"
	StepVuln   = "vuln"
	StepIntel  = "intel"
	StepAssess = "assess"
	StepGather = "gather"
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
