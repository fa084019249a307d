package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Limit is the roles, the times and the scope of a signer, and what a signer with guests may touch outside of the manifests of these guests. Package verify only checks the form of the latter
// and passes it on.
type Limit struct {
	Name    string // of the signer
	May     []Role
	From    time.Time   // commits that are proven before do not count; zero for no bound
	Until   time.Time   // nor those that are proven at this time or after it; zero for no bound
	Guests  []string    // patterns of kind/name; empty means all guests
	Paths   []string    // folders and files; empty means all files
	VMIDs   []VMIDRange // guests that the source did not create and that the signer may take over, attach from, copy or restore
	Sources []string    // the only sources from which the signer may create guests; empty means every template and image
}

// A VMIDRange is the vmids from First to Last, both included.
type VMIDRange struct{ First, Last int }

// Contains reports whether the range contains a vmid.
func (r VMIDRange) Contains(vmid int) bool { return r.First <= vmid && vmid <= r.Last }

var vmidRange = regexp.MustCompile(`^([1-9][0-9]{2,8})(?:-([1-9][0-9]{2,8}))?$`)

// ParseVMIDs reads one vmid, "1000", or a range, "100-199".
func ParseVMIDs(text string) (VMIDRange, error) {
	m := vmidRange.FindStringSubmatch(text)
	if m == nil {
		return VMIDRange{}, fmt.Errorf("got %q, want a vmid such as 1000, or a range such as 100-199", text)
	}
	r := VMIDRange{}
	r.First, _ = strconv.Atoi(m[1]) // the pattern allows nine digits
	r.Last = r.First
	if m[2] != "" {
		r.Last, _ = strconv.Atoi(m[2])
	}
	if r.First > r.Last {
		return VMIDRange{}, fmt.Errorf("got %q, want the lower vmid first", text)
	}
	return r, nil
}

// limitProblems returns the problems of vmids and sources.
func (s Signer) limitProblems() []error {
	var problems []error
	for _, v := range s.VMIDs {
		if _, err := ParseVMIDs(v); err != nil {
			problems = append(problems, fmt.Errorf("vmids: %w", err))
		}
	}
	for _, p := range s.Sources {
		if !isSourcePattern(p) {
			problems = append(problems, fmt.Errorf("sources: %q is not a vmid (9000), a range (9000-9099), a template as VirtualMachine/debian-*, a volume as "+
				"local:import/*, or a path of the host as /srv/share", p))
		}
	}
	if len(s.Guests) == 0 && len(s.VMIDs)+len(s.Sources) > 0 {
		problems = append(problems, errors.New("vmids and sources need guests: a signer without guests may touch every guest and every source"))
	}
	return problems
}

// isSourcePattern reports whether text has a form that limits sources: a vmid or range, kind/name, a volume, or a path of the host.
func isSourcePattern(text string) bool {
	if _, err := ParseVMIDs(text); err == nil {
		return true
	}
	_, err := path.Match(text, "")
	return err == nil && (strings.HasPrefix(text, "VirtualMachine/") || strings.HasPrefix(text, "Container/") || strings.HasPrefix(text, "/") ||
		strings.Index(text, ":") > 0)
}

// Entry identifies the identity of a signer: the same issuer, subject and extensions under the same name. It does not depend on roles, times and
// limits, so it stays the same when they change. It is 16 hexadecimal digits.
func (s Signer) Entry() string {
	// Marshalling strings cannot fail.
	text, _ := json.Marshal([]any{s.Name, s.Issuer, s.Subject, s.SubjectRegexp, s.Extensions})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Limits returns the limits of all signers, by Signer.Entry. Signers with the same identity and different times have one entry.
func (p *Policy) Limits() map[string][]Limit {
	limits := make(map[string][]Limit, len(p.signers))
	for _, s := range p.signers {
		l := Limit{Name: s.Name, May: s.May, From: s.From, Until: s.Until, Guests: s.Guests, Paths: s.Paths, Sources: s.Sources}
		for _, text := range s.VMIDs {
			r, _ := ParseVMIDs(text) // NewPolicy refuses what does not parse
			l.VMIDs = append(l.VMIDs, r)
		}
		limits[s.Entry()] = append(limits[s.Entry()], l)
	}
	return limits
}

// HasLimits reports whether a signer may change only some guests.
func (p *Policy) HasLimits() bool {
	for _, s := range p.signers {
		if len(s.Guests) > 0 {
			return true
		}
	}
	return false
}
