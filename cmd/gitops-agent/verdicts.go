package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"gitops-agent/verify"
)

// verifyDocument is the outcome of an audit.
type verifyDocument struct {
	SchemaVersion int           `json:"schemaVersion"`
	Revision      string        `json:"revision"` // as asked for
	Accepted      int           `json:"accepted"`
	Refused       int           `json:"refused"`
	Verdicts      []verdictView `json:"verdicts"`
}

type verdictView struct {
	Kind        string        `json:"kind"` // commit or tag
	ID          string        `json:"id"`
	Accepted    bool          `json:"accepted"`
	Reason      verify.Reason `json:"reason,omitempty"`
	Message     string        `json:"message,omitempty"`
	Hint        string        `json:"hint,omitempty"`
	Signer      string        `json:"signer,omitempty"` // its name in the policy
	Subject     string        `json:"subject,omitempty"`
	Issuer      string        `json:"issuer,omitempty"`
	ProvenTime  time.Time     `json:"provenTime,omitzero"`
	Workflow    string        `json:"workflow,omitempty"`
	Repository  string        `json:"repository,omitempty"`
	Ref         string        `json:"ref,omitempty"`
	Trigger     string        `json:"trigger,omitempty"`
	Log         string        `json:"log,omitempty"`
	LogIndex    int64         `json:"logIndex,omitempty"`
	Certificate string        `json:"certificate,omitempty"` // SHA-256
	Target      string        `json:"target,omitempty"`
}

func newVerifyDocument(revision string, verdicts []audited) verifyDocument {
	d := verifyDocument{SchemaVersion: schemaVersion, Revision: revision, Verdicts: make([]verdictView, 0, len(verdicts))}
	for _, v := range verdicts {
		view := verdictView{
			Kind: v.kind, ID: string(v.Object), Accepted: v.Accepted, Reason: v.Reason, Hint: v.Hint, Signer: v.Signer, Subject: v.Subject, Issuer: v.Issuer,
			ProvenTime: v.ProvenTime, Workflow: v.Workflow, Repository: v.Repository, Ref: v.Ref, Trigger: v.Trigger, Log: v.Log, LogIndex: v.LogIndex,
			Certificate: v.Certificate, Target: v.Target,
		}
		if v.Accepted {
			d.Accepted++
		} else {
			d.Refused++
			view.Message = v.Err.Error()
		}
		d.Verdicts = append(d.Verdicts, view)
	}
	return d
}

func (d verifyDocument) outcome() error {
	if d.Refused > 0 {
		return &statusError{status: exitRefused}
	}
	return nil
}

// writeVerdicts prints a line a commit. Whom a certificate names is shown also where no signer of the policy fits.
func writeVerdicts(out io.Writer, d verifyDocument, explain bool) {
	p := newPalette(out)
	if len(d.Verdicts) > 0 {
		t := table{}
		t.addText("VERDICT", "COMMIT", "REASON", "SIGNER", "ISSUER", "PROVEN")
		for _, v := range d.Verdicts {
			t.add(v.word(), cell{text: v.shortID()}, cell{text: cmp.Or(string(v.Reason), "-")}, cell{text: cmp.Or(v.Subject, "-")}, cell{text: cmp.Or(v.Issuer, "-")}, cell{text: v.proven()})
		}
		t.write(out, p)
	}
	if explain {
		explainVerdicts(out, d, p)
	}
	_, _ = fmt.Fprintf(out, "%s: %d accepted, %d refused\n", printable(d.Revision), d.Accepted, d.Refused)
}

func explainVerdicts(out io.Writer, d verifyDocument, p palette) {
	for _, v := range d.Verdicts {
		if v.Accepted {
			continue
		}
		_, _ = fmt.Fprintf(out, "\n%s %s\n", p.paint(bold, v.Kind), v.ID)
		_, _ = fmt.Fprintf(out, "  %s\n", printable(v.Message))
		if v.Hint != "" {
			_, _ = fmt.Fprintf(out, "  remedy: %s\n", printable(v.Hint))
		}
	}
	if d.Refused > 0 {
		_, _ = fmt.Fprintln(out)
	}
}

func (v verdictView) word() cell {
	if v.Accepted {
		return cell{"accepted", green}
	}
	return cell{"refused", red}
}

// shortID returns the first digits of the id, and says so of a tag.
func (v verdictView) shortID() string {
	id := fmt.Sprintf("%.10s", v.ID)
	if v.Kind == "tag" {
		return "tag " + id
	}
	return id
}

func (v verdictView) proven() string {
	if v.ProvenTime.IsZero() {
		return "-"
	}
	return v.ProvenTime.UTC().Format(time.RFC3339)
}
