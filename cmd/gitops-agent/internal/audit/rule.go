package audit

import (
	"slices"
	"sync"

	"gitops-agent/verify"
)

// rule is a condition that a commit or tag must satisfy. The rules are checked in order, and the first one that fails ends the check of an
// object: all rules before it passed, and the rules after it are not checked.
type rule struct {
	name     string
	requires string
	reasons  []verify.Reason // of a failure
}

// The names of the rule that does not apply to tags, and of the one that applies only to them.
const ruleChange, ruleName = "change", "name"

// rules returns the rules in the order in which package verify checks them.
func rules() []rule {
	return []rule{
		{"object", "it exists and has the layout that git writes", []verify.Reason{
			verify.ReasonMalformed, verify.ReasonTooLarge, verify.ReasonIncompleteHistory,
		}},
		{"signature", "it has one Sigstore signature of the accepted profile", []verify.Reason{
			verify.ReasonUnsigned, verify.ReasonNotSigstore, verify.ReasonMalformedSignature,
		}},
		{"content", "the signature covers exactly these bytes", []verify.Reason{verify.ReasonContentMismatch}},
		{"entry", "it contains its entry in a transparency log, or there is evidence of the entry", []verify.Reason{
			verify.ReasonOnlineOnly, verify.ReasonEvidenceMissing, verify.ReasonBadEvidence,
		}},
		{"proof", "key, log, time, authority and certificate log prove the signature", []verify.Reason{
			verify.ReasonBadSignature, verify.ReasonUntrustedLog, verify.ReasonBadLogEntry, verify.ReasonNoTrustedTime, verify.ReasonNoTimestamp,
			verify.ReasonUntrustedTimestamp,
			verify.ReasonExpiredCertificate, verify.ReasonUntrustedCertificate, verify.ReasonNoCertificateLog,
		}},
		{"deny", "it is not on the deny list", []verify.Reason{verify.ReasonDenied}},
		{"signer", "a signer of the policy made it, at a time when the signer was trusted", []verify.Reason{
			verify.ReasonWrongIdentity, verify.ReasonOutsideWindow,
		}},
		{ruleChange, "the role and the paths of the signer allow the change; only the agent compares guests", []verify.Reason{verify.ReasonMissingRole, verify.ReasonOutOfScope}},
		{ruleName, "it is at the ref whose name was signed, if a ref names it", []verify.Reason{verify.ReasonWrongName}},
	}
}

// ruleResult is the result of checking a rule.
type ruleResult string

const (
	rulePassed     ruleResult = "passed"
	ruleFailed     ruleResult = "failed"
	ruleNotChecked ruleResult = "not-asked"
)

// ruleView is the result of one rule.
type ruleView struct {
	Rule   string     `json:"rule"`
	Result ruleResult `json:"result"` // passed, failed or not-asked
}

// ruleViews returns the results of the rules that lead to a verdict. If an object could not be read, no rule was checked. The results must not be changed:
// verdicts share them.
func ruleViews(v verdict) []ruleView {
	passed, failed := true, ""
	switch {
	case v.Accepted, v.below != "": // all rules for the commit itself
	case v.Reason == "":
		passed = false
	case v.Signer != "" && v.kind == kindTag: // the signer is recognised, so the rest is not allowed
		failed = ruleName
	case v.Signer != "":
		failed = ruleChange
	default:
		failed = ruleOf(v.Reason)
	}
	return sharedViews()[viewsKey{v.kind == kindTag, passed, failed}]
}

// A viewsKey is what the results of the rules depend on.
type viewsKey struct {
	tag    bool
	passed bool   // the rules before failed passed
	failed string // a rule, or "" if none failed
}

// sharedViews returns the results for every key. A long range has few different ones, and would spend a third of its memory on copies.
var sharedViews = sync.OnceValue(func() map[viewsKey][]ruleView {
	all := map[viewsKey][]ruleView{}
	for _, tag := range []bool{false, true} {
		for _, passed := range []bool{false, true} {
			all[viewsKey{tag, passed, ""}] = viewsOf(viewsKey{tag, passed, ""})
		}
		for _, r := range rules() {
			key := viewsKey{tag, true, r.name}
			all[key] = viewsOf(key)
		}
	}
	return all
})

func viewsOf(key viewsKey) []ruleView {
	result := ruleNotChecked
	if key.passed {
		result = rulePassed
	}
	var views []ruleView
	for _, r := range rules() {
		switch {
		case key.tag && r.name == ruleChange, !key.tag && r.name == ruleName:
		case r.name == key.failed:
			views = append(views, ruleView{r.name, ruleFailed})
			result = ruleNotChecked
		default:
			views = append(views, ruleView{r.name, result})
		}
	}
	return views
}

// ruleOf returns the name of the rule that fails for a reason, or "" for reasons that depend on the history of a commit.
func ruleOf(reason verify.Reason) string {
	for _, r := range rules() {
		if slices.Contains(r.reasons, reason) {
			return r.name
		}
	}
	return ""
}
