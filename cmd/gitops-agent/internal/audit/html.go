package audit

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/verify"
)

// maxSection is how many objects a section of the page lists, unless Listing.All is set.
const maxSection = 1000

//go:embed report.html
var reportText string

// reportTemplate escapes everything that it inserts.
var reportTemplate = template.Must(template.New("report").Parse(reportText))

// WriteHTML prints a page for people, which needs no other file and no scripts: first what is refused, unsigned objects foremost, then what is sealed and
// accepted. version is the version of this program, and at the time of the audit.
func (r Result) WriteHTML(out io.Writer, version string, at time.Time) error {
	if err := reportTemplate.Execute(out, newPage(r, version, at)); err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	return nil
}

// page is what the template prints. Its texts contain no control characters; the template escapes them.
type page struct {
	Revision, Version, At     string
	Accepted, Refused, Sealed int
	Missed                    string
	Reasons                   []pageReason
	Sections                  []pageSection
	Signers                   []pageSigner
}

type pageReason struct {
	Count                           int
	Reason, Signer, Issuer, Meaning string
}

type pageSection struct {
	Title, Tone   string
	Count, Listed int
	LeftOut, Why  bool
	Rows          []pageRow
}

type pageRow struct{ Kind, ID, Title, Promotes, Signer, Via, Issuer, Proven, Reason, Message, Hint string }

type pageSigner struct{ Subject, Issuer, Accepted, Refused, Sealed, First, Last string }

func newPage(r Result, version string, at time.Time) page {
	d := r.document
	p := page{
		Revision: term.Printable(d.Revision), Version: version, At: moment(at),
		Accepted: d.Accepted, Refused: d.Refused, Sealed: d.Sealed, Missed: term.Printable(d.NotAudited.text()),
	}
	for _, s := range d.Refusals {
		p.Reasons = append(p.Reasons, pageReason{
			s.Count, string(s.Reason), term.Printable(signerCell(s.Subject, s.ClaimedSubject)), term.Printable(signerCell(s.Issuer, s.ClaimedIssuer)),
			cmp.Or(s.Reason.Meaning(), "it could not be read"),
		})
	}
	byWord := map[string][]int{} // positions
	for i, v := range r.listing.selected(d) {
		byWord[v.Verdict] = append(byWord[v.Verdict], i)
	}
	slices.SortStableFunc(byWord[wordRefused], func(a, b int) int { return unsignedFirst(d.all[a]) - unsignedFirst(d.all[b]) })
	add := func(word string, s pageSection) {
		if len(byWord[word]) > 0 {
			p.Sections = append(p.Sections, s.with(d.all, byWord[word], r.listing.All))
		}
	}
	add(wordRefused, pageSection{Title: "Refused", Tone: "bad", Why: true})
	add(wordSealed, pageSection{Title: "Sealed: refused by themselves, accepted by a later seal", Tone: "warn", Why: true})
	add(wordAccepted, pageSection{Title: "Accepted", Tone: "good"})
	for _, s := range d.Signers {
		p.Signers = append(p.Signers, pageSigner{
			term.Printable(cmp.Or(s.Subject, "not proven")), term.Printable(orDash(s.Issuer)),
			strconv.Itoa(s.Accepted), strconv.Itoa(s.Refused), strconv.Itoa(s.Sealed), moment(s.First), moment(s.Last),
		})
	}
	return p
}

// unsignedFirst sorts refusals: unsigned objects come before signed ones.
func unsignedFirst(v verdict) int {
	if v.Reason == verify.ReasonUnsigned {
		return 0
	}
	return 1
}

// with returns the section with the verdicts at these positions as its rows: all of them, or the first maxSection.
func (s pageSection) with(verdicts []verdict, at []int, all bool) pageSection {
	s.Count, s.Listed = len(at), len(at)
	if !all {
		s.Listed = min(s.Listed, maxSection)
	}
	s.LeftOut = s.Listed < s.Count
	for _, i := range at[:s.Listed] {
		v := newVerdictView(verdicts[i])
		row := pageRow{
			Kind: v.Kind, ID: v.ID, Title: v.Title, Signer: signerCell(v.Subject, v.ClaimedSubject), Issuer: signerCell(v.Issuer, v.ClaimedIssuer),
			Proven: moment(v.ProvenTime), Reason: orDash(string(v.Reason)), Message: v.Message, Hint: v.Hint,
		}
		if v.Workflow != "" {
			row.Via = v.via()
		}
		if p := v.Promotion; p != nil {
			row.Promotes = p.text()
			if p.Stated != nil {
				row.Promotes += ", statement: " + p.statement()
			}
		}
		if v.SealedBy != "" {
			row.Hint = "sealed by commit " + v.SealedBy
		}
		for _, text := range []*string{&row.Title, &row.Promotes, &row.Signer, &row.Issuer, &row.Via, &row.Message, &row.Hint} {
			*text = term.Printable(*text)
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}
