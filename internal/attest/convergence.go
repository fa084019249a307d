package attest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"gitops-agent/reconcile/report"
)

// ConvergenceType is the type of the predicate Convergence.
const ConvergenceType = "urn:gitops-agent:convergence:v1"

// Convergence states that every guest of a cluster matched a revision. Its subject is the commit of the revision.
type Convergence struct {
	Cluster  string            `json:"cluster"`
	Branch   string            `json:"branch"`
	Revision string            `json:"revision"`    // "main@sha1:<40 hex>"
	Time     time.Time         `json:"convergedAt"` // when the agent found that all guests match
	Guests   int               `json:"guests"`      // that the digest covers
	Observed map[string]string `json:"observedState"`
	Agent    map[string]string `json:"agent"` // version of the program, by name
}

// digestOfState is the algorithm of Convergence.Observed.
const digestOfState = "sha256"

// convergenceOf returns what a report states about its revision. It returns false while the report does not show that every guest matches the revision.
func convergenceOf(r report.Report, version string) (Statement[Convergence], bool) {
	revision := r.Source.Accepted
	if revision == nil || revision.Converged.IsZero() || !r.Proxmox.Ready {
		return Statement[Convergence]{}, false
	}
	digest, guests := stateDigest(r.Guests)
	return NewStatement([]Resource{{Name: "commit", Digest: map[string]string{GitCommit: revision.Commit}}}, ConvergenceType, Convergence{
		Cluster: r.Cluster, Branch: r.Source.Branch, Revision: revision.Revision, Time: revision.Converged.UTC().Truncate(time.Second),
		Guests: guests, Observed: map[string]string{digestOfState: digest}, Agent: map[string]string{"gitops-agent": version},
	}), true
}

// stateDigest returns the SHA-256 of what was observed of the managed guests, and how many they are. Each guest is one line in the order of the report:
// kind, name, vmid, node, status and the digest of its configuration, separated by tabs.
func stateDigest(guests []report.Guest) (digest string, covered int) {
	sum := sha256.New()
	for _, g := range guests {
		if g.Managed {
			covered++
			fmt.Fprintf(sum, "%s\t%s\t%s\t%s\t%s\t%s\n", g.Kind, g.Name, number(g.VMID), g.Node, g.Status, g.Digest)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), covered
}

// number returns a vmid as text, and "" for an object that has none, as JSON omits it.
func number(vmid int) string {
	if vmid == 0 {
		return ""
	}
	return fmt.Sprint(vmid)
}

// parseConvergence reads the payload of an envelope.
func parseConvergence(payload []byte) (Statement[Convergence], error) {
	var s Statement[Convergence]
	if err := limits.Check(string(payload)); err != nil {
		return s, fmt.Errorf("read the statement: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return s, fmt.Errorf("read the statement: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return s, errors.New("read the statement: text follows it")
	}
	switch {
	case s.Type != StatementType:
		return s, fmt.Errorf("read the statement: got type %.100q, want %s", s.Type, StatementType)
	case s.PredicateType != ConvergenceType:
		return s, fmt.Errorf("read the statement: got predicate %.100q, want %s", s.PredicateType, ConvergenceType)
	case len(s.Subject) != 1 || s.Subject[0].Digest[GitCommit] == "":
		return s, errors.New("read the statement: want one commit as its subject")
	case s.Predicate.Cluster == "" || s.Predicate.Time.IsZero():
		return s, errors.New("read the statement: want a cluster and a time")
	}
	return s, nil
}
