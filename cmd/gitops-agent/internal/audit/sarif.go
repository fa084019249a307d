package audit

import (
	"fmt"
	"net/url"

	"gitops-agent/verify"
)

// The part of SARIF 2.1.0 that an audit needs. A refused object is a result, a sealed one is a suppressed result, an accepted one is not a
// result.
//
// Source: OASIS, Static Analysis Results Interchange Format 2.1.0, section 3.

const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sarifError   = "error"
	sarifWarning = "warning"
)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string       `json:"id"`
	ShortDescription sarifMessage `json:"shortDescription"`
	Help             sarifMessage `json:"help"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	ExecutionSuccessful        bool                `json:"executionSuccessful"`
	ToolExecutionNotifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string       `json:"level"`
	Message sarifMessage `json:"message"`
}

type sarifResult struct {
	RuleID              string             `json:"ruleId"`
	RuleIndex           int                `json:"ruleIndex"`
	Level               string             `json:"level"`
	Message             sarifMessage       `json:"message"`
	Locations           []sarifLocation    `json:"locations"`
	PartialFingerprints map[string]string  `json:"partialFingerprints"`
	Suppressions        []sarifSuppression `json:"suppressions,omitempty"`
	Properties          sarifProperties    `json:"properties"`
}

type sarifLocation struct {
	PhysicalLocation *sarifPhysicalLocation `json:"physicalLocation,omitempty"`
	LogicalLocations []sarifLogicalLocation `json:"logicalLocations"`
}

type sarifPhysicalLocation struct {
	ArtifactLocation sarifArtifactLocation `json:"artifactLocation"`
	Region           sarifRegion           `json:"region"`
}

type sarifArtifactLocation struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogicalLocation struct {
	FullyQualifiedName string `json:"fullyQualifiedName"`
	Kind               string `json:"kind"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

// sarifProperties hold the values for which the format has no field.
type sarifProperties struct {
	Subject    string `json:"subject,omitempty"`
	Issuer     string `json:"issuer,omitempty"`
	Workflow   string `json:"workflow,omitempty"`
	ProvenTime string `json:"provenTime,omitempty"`
}

// newSARIF returns verdicts in the format of tools that collect findings.
func newSARIF(version string, verdicts []verdict, missed notAuditedView) sarifLog {
	run := sarifRun{
		Tool:    sarifTool{sarifDriver{Name: "gitops-agent", Version: version}},
		Results: []sarifResult{},
	}
	index := map[verify.Reason]int{}
	for i, reason := range verify.Reasons() {
		index[reason] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{string(reason), sarifMessage{reason.Meaning()}, sarifMessage{reason.Hint()}})
	}
	invocation := sarifInvocation{ExecutionSuccessful: true}
	for _, v := range verdicts {
		switch {
		case v.Accepted:
		case v.Reason == "":
			invocation.ExecutionSuccessful = false
			invocation.ToolExecutionNotifications = append(invocation.ToolExecutionNotifications, sarifNotification{sarifError, sarifMessage{v.Err.Error()}})
		default:
			run.Results = append(run.Results, newSARIFResult(v, index[v.Reason]))
		}
	}
	if text := missed.text(); text != "" {
		invocation.ToolExecutionNotifications = append(invocation.ToolExecutionNotifications, sarifNotification{sarifWarning, sarifMessage{text}})
	}
	run.Invocations = []sarifInvocation{invocation}
	return sarifLog{sarifSchema, sarifVersion, []sarifRun{run}}
}

func newSARIFResult(v verdict, rule int) sarifResult {
	result := sarifResult{
		RuleID: string(v.Reason), RuleIndex: rule, Level: sarifError, Message: sarifMessage{fmt.Sprintf("%s. Remedy: %s", v.Err, v.Hint)},
		Locations:           []sarifLocation{{LogicalLocations: []sarifLogicalLocation{{string(v.Object), v.kind}}}},
		PartialFingerprints: map[string]string{"gitObject/v1": string(v.Object)},
		Properties:          sarifProperties{Subject: v.Subject, Issuer: v.Issuer, Workflow: v.Run().BuildSignerURI},
	}
	if !v.ProvenTime.IsZero() {
		result.Properties.ProvenTime = moment(v.ProvenTime)
	}
	if v.path != "" { // tools that show findings in files need a line; the finding is about the whole file
		result.Locations[0].PhysicalLocation = &sarifPhysicalLocation{sarifArtifactLocation{(&url.URL{Path: v.path}).String()}, sarifRegion{1}}
	}
	if v.word() == wordSealed {
		result.Suppressions = []sarifSuppression{{"external", fmt.Sprintf("sealed by commit %s", v.sealedBy)}}
	}
	return result
}
