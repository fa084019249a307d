package audit

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
)

// writeVerdicts prints one line per object, or of a long range one per reason of refusals, and if there are several objects a summary by signer. The
// identity in a certificate is printed even if it matches no signer of the policy.
func writeVerdicts(out io.Writer, d Document, l Listing) {
	p := term.NewPalette(out)
	if l.isSummary(d) {
		writeRefusals(out, d.Refusals, p)
		writeSigners(out, d.Signers, p)
		return
	}
	workflows := slices.ContainsFunc(d.all, func(v verdict) bool { return v.Run().BuildSignerURI != "" })
	t, rows := term.Table{}, 0
	t.AddText(columns(workflows, "VERDICT", "COMMIT", "REASON", "RULES", "SIGNER", "ISSUER", "PROVEN", "WORKFLOW", "SUBJECT")...)
	for _, v := range l.selected(d) {
		row := plainly(columns(workflows, v.Verdict, v.shortID(), orDash(string(v.Reason)), v.passed(), signerCell(v.Subject, v.ClaimedSubject),
			signerCell(v.Issuer, v.ClaimedIssuer), moment(v.ProvenTime), v.via(), orDash(term.Shorten(v.Title, maxSubject)))...)
		row[0] = v.word()
		t.Add(row...)
		rows++
	}
	if rows > 0 {
		t.Write(out, p)
	}
	if len(d.all) > 1 {
		_, _ = fmt.Fprintln(out)
		writeSigners(out, d.Signers, p)
	}
}

// writeIgnored prints which listed commits mention orders that have no effect and, if explain is set, the remedy.
func writeIgnored(out io.Writer, d Document, l Listing, explain bool) {
	if l.isSummary(d) {
		return
	}
	for _, v := range l.selected(d) {
		if v.Ignored != "" {
			_, _ = fmt.Fprintf(out, "\n%s: its orders have no effect: %s\n", v.shortID(), term.Printable(v.Ignored))
			if explain && v.Accepted && v.Hint != "" {
				_, _ = fmt.Fprintf(out, "  remedy: %s\n", term.Printable(v.Hint))
			}
		}
	}
}

// maxSubject is the length of a printed first line of a message, in characters.
const maxSubject = 60

// columns returns the cells of a row. The one before the last is for workflows, and is left out if there are none.
func columns(workflows bool, cells ...string) []string {
	if workflows {
		return cells
	}
	return slices.Delete(cells, len(cells)-2, len(cells)-1)
}

// signerCell returns what a signature proves about its signer, or what it claims.
func signerCell(proven, claimed string) string {
	if proven == "" && claimed != "" {
		return claimed + " (unproven)"
	}
	return orDash(proven)
}

// plainly returns a row without colours.
func plainly(texts ...string) []term.Cell {
	row := make([]term.Cell, len(texts))
	for i, text := range texts {
		row[i] = term.Cell{Text: text}
	}
	return row
}

func writeSigners(out io.Writer, signers []signerView, p term.Palette) {
	t := term.Table{}
	t.AddText("SIGNER", "ISSUER", "ACCEPTED", "REFUSED", "SEALED", "FIRST", "LAST")
	for _, s := range signers {
		t.AddText(cmp.Or(s.Subject, "not proven"), orDash(s.Issuer), strconv.Itoa(s.Accepted), strconv.Itoa(s.Refused), strconv.Itoa(s.Sealed),
			moment(s.First), moment(s.Last))
	}
	t.Write(out, p)
}

// writeTotals prints the totals, the last line.
func writeTotals(out io.Writer, d Document, l Listing) {
	text := fmt.Sprintf("%d accepted, %d refused", d.Accepted, d.Refused)
	if d.Sealed > 0 {
		text += fmt.Sprintf(", %d sealed", d.Sealed)
	}
	if l.isSummary(d) {
		text += "; --all or --only lists the verdicts"
	}
	_, _ = fmt.Fprintf(out, "%s: %s\n", term.Printable(d.Revision), text)
}

// writeNotAudited prints what of the range has no verdict.
func writeNotAudited(out io.Writer, v notAuditedView) {
	if text := v.text(); text != "" {
		_, _ = fmt.Fprintln(out, text)
	}
}

func (v verdictView) word() term.Cell {
	return term.Cell{Text: v.Verdict, Colour: map[string]term.Colour{wordAccepted: term.Green, wordRefused: term.Red, wordSealed: term.Yellow}[v.Verdict]}
}

// shortID returns the first ten digits of the id, with "tag" before that of a tag.
func (v verdictView) shortID() string {
	id := fmt.Sprintf("%.10s", v.ID)
	if v.Kind == kindTag {
		return "tag " + id
	}
	return id
}

// passed returns the number of passed rules and of all rules: "3/8".
func (v verdictView) passed() string {
	n := 0
	for _, r := range v.Rules {
		if r.Result == rulePassed {
			n++
		}
	}
	return fmt.Sprintf("%d/%d", n, len(v.Rules))
}

// via returns the workflow run that signed: its trigger, repository and ref. The workflow itself is the subject of the certificate.
func (v verdictView) via() string {
	if v.Workflow == "" {
		return "-"
	}
	return strings.TrimSpace(v.Trigger + " of " + strings.TrimPrefix(v.Repository, "https://") + "@" + strings.TrimPrefix(v.Ref, "refs/heads/"))
}

// moment returns a time in UTC, or "-" for the zero time.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
