package audit

import (
	"slices"

	"gitops-agent/verify"
)

// rule is a question that an audit puts to a commit or tag, in the order in which it asks. The first one that is answered with no
// ends the audit, so that everything before it is known to be well, and nothing is known of what follows.
type rule struct {
	name    string
	asks    string
	reasons []verify.Reason // of a no
}

// ruleChange is the rule that no tag is asked about.
const ruleChange = "change"

func rules() []rule {
	return []rule{
		{"object", "it is there and laid out as git writes it", []verify.Reason{
			verify.ReasonMalformed, verify.ReasonTooLarge, verify.ReasonIncompleteHistory,
		}},
		{"signature", "it bears one Sigstore signature of the accepted profile", []verify.Reason{
			verify.ReasonUnsigned, verify.ReasonNotSigstore, verify.ReasonMalformedSignature,
		}},
		{"content", "the signature is about exactly these bytes", []verify.Reason{verify.ReasonContentMismatch}},
		{"entry", "it carries its entry in a transparency log", []verify.Reason{verify.ReasonOnlineOnly}},
		{"proof", "key, log, time, authority and certificate log vouch for it", []verify.Reason{
			verify.ReasonBadSignature, verify.ReasonUntrustedLog, verify.ReasonBadLogEntry, verify.ReasonNoTrustedTime, verify.ReasonNoTimestamp,
			verify.ReasonExpiredCertificate, verify.ReasonUntrustedCertificate, verify.ReasonNoCertificateLog,
		}},
		{"deny", "it is not on the deny list", []verify.Reason{verify.ReasonDenied}},
		{"signer", "a signer of the policy made it, at a time when the signer was trusted", []verify.Reason{
			verify.ReasonWrongIdentity, verify.ReasonOutsideWindow,
		}},
		{ruleChange, "role and paths of the signer allow what it changes; guests are compared by the agent alone", []verify.Reason{verify.ReasonMissingRole, verify.ReasonOutOfScope}},
	}
}

// ruleResult is the answer to a rule.
type ruleResult string

const (
	rulePassed   ruleResult = "passed"
	ruleFailed   ruleResult = "failed"
	ruleNotAsked ruleResult = "not-asked"
)

type ruleView struct {
	Rule   string     `json:"rule"`
	Result ruleResult `json:"result"`
}

// ruleViews returns the answers that lead to a verdict. Where an object could not be read, nothing was asked.
func ruleViews(v verdict) []ruleView {
	result, failed := rulePassed, ""
	switch {
	case v.Accepted:
	case v.Reason == "":
		result = ruleNotAsked
	case v.Signer != "": // recognised, so it is the change
		failed = ruleChange
	default:
		failed = ruleOf(v.Reason)
	}
	var views []ruleView
	for _, r := range rules() {
		switch {
		case v.kind == "tag" && r.name == ruleChange:
		case r.name == failed:
			views = append(views, ruleView{r.name, ruleFailed})
			result = ruleNotAsked
		default:
			views = append(views, ruleView{r.name, result})
		}
	}
	return views
}

// ruleOf names the rule that a reason answers, "" for reasons that only a history gives.
func ruleOf(reason verify.Reason) string {
	for _, r := range rules() {
		if slices.Contains(r.reasons, reason) {
			return r.name
		}
	}
	return ""
}
