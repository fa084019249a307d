package planview

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/manifest"
)

// Bounds of a comment. Forges reject longer ones: the limit of GitHub is 65,536 characters.
const (
	maxComment      = 60_000 // bytes
	maxSummaryRows  = 150    // guests in the table at the top
	maxWarnings     = 20     // of the manifests
	maxProblems     = 20
	maxNotes        = 20
	maxCommentValue = 200 // runes of a value
)

// WriteMarkdown prints a plan as a comment on a pull request: a table with one row per guest, and a section per guest that opens on a click.
// Guests that do not fit are counted.
func WriteMarkdown(out io.Writer, d Document) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### %s\n\n%s\n", d.Summary, markdownText(d.heading()))
	if note := d.Ownership.note(); note != "" {
		fmt.Fprintf(&b, "\n%s\n", markdownText(note))
	}
	for _, r := range d.Rollouts {
		fmt.Fprintf(&b, "\n%s\n", markdownText(r.String()))
	}
	writeMarkdownWarnings(&b, d.Warnings)
	writeMarkdownProblems(&b, d.Problems)
	writeMarkdownNotes(&b, d.Notes)
	writeMarkdownSummary(&b, d.blocks())
	omitted := 0
	for _, g := range d.blocks() {
		section := markdownSection(g)
		if b.Len()+len(section) > maxComment {
			omitted++
			continue
		}
		b.WriteString(section)
	}
	if omitted > 0 {
		fmt.Fprintf(&b, "\n**The details of %s are omitted**: they do not fit into a comment. `gitops-agent plan` prints them.\n", term.Count(omitted, "guest"))
	}
	_, err := out.Write(b.Bytes())
	return err
}

// WriteMarkdownError prints a comment about manifests that cannot be planned. Other errors may name addresses of the cluster, which not everybody who sees
// the comment may know: they are only in the output of the command.
func WriteMarkdownError(out io.Writer, cluster, commit string, cause error) error {
	var b bytes.Buffer
	b.WriteString("### There is no plan\n\n" + markdownText("Cluster "+cluster+term.Prefixed(", the tree of commit ", commit)) + "\n\n")
	var problems *manifest.Problems
	if !errors.As(cause, &problems) {
		b.WriteString("The plan could not be computed; the output of the job has the reason.\n")
	} else {
		b.WriteString("The agent would refuse these manifests:\n\n")
		for i, p := range problems.List {
			if i == maxProblems {
				fmt.Fprintf(&b, "- and %d more\n", len(problems.List)-i)
				break
			}
			fmt.Fprintf(&b, "- %s\n", markdownText(p.String()))
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}

func writeMarkdownWarnings(b *bytes.Buffer, warnings []string) {
	for i, w := range warnings {
		if i == maxWarnings {
			fmt.Fprintf(b, "\nand %d more warnings\n", len(warnings)-i)
			break
		}
		fmt.Fprintf(b, "\n**Warning:** %s\n", markdownText(w))
	}
}

func writeMarkdownNotes(b *bytes.Buffer, notes []noteView) {
	for i, n := range notes {
		if i == maxNotes {
			fmt.Fprintf(b, "\nand %d more notes\n", len(notes)-i)
			break
		}
		fmt.Fprintf(b, "\nNote: %s\n", markdownText(n.String()))
	}
}

func writeMarkdownSummary(b *bytes.Buffer, guests []guestView) {
	if len(guests) == 0 {
		return
	}
	b.WriteString("\n| | guest | node | what happens |\n|---|---|---|---|\n")
	for i, g := range guests {
		if i == maxSummaryRows {
			fmt.Fprintf(b, "| | and %d more | | |\n", len(guests)-i)
			break
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", g.Action.symbol(), markdownCode(g.name()), markdownCode(g.Node), markdownText(g.outcome()))
	}
}

// markdownSection returns the section of one guest. Its heading is HTML, in which Markdown has no effect.
func markdownSection(g guestView) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary><code>%s</code> <code>%s</code>%s</summary>\n\n", g.Action.symbol(), markdownHTML(g.label()), term.Prefixed(" ", markdownHTML(g.read())))
	if g.Origin != "" {
		fmt.Fprintf(&b, "manifest: %s\n\n", markdownCode(g.Origin))
	}
	if choice := g.choice(); choice != "" {
		fmt.Fprintf(&b, "%s\n\n", markdownText(choice))
	}
	writeMarkdownChanges(&b, g)
	for _, s := range g.Steps {
		if s.Held != nil || s.obvious() {
			continue
		}
		fmt.Fprintf(&b, "- %s%s\n", markdownText(s.what()), term.Prefixed(": ", markdownText(s.why())))
		writeMarkdownVolumes(&b, s.Volumes)
	}
	for _, h := range g.holds() {
		writeMarkdownHold(&b, h)
	}
	for _, c := range g.remarks() {
		fmt.Fprintf(&b, "- **%s** (%s): %s%s\n", c.Type, markdownText(string(c.Reason)), markdownText(c.Message), term.Prefixed(" — ", markdownText(c.Hint)))
	}
	b.WriteString("\n</details>\n")
	return b.String()
}

func writeMarkdownChanges(b *strings.Builder, g guestView) {
	if len(g.Changes) == 0 {
		return
	}
	b.WriteString("| | key | from | to | effect | manifest |\n|---|---|---|---|---|---|\n")
	for _, c := range g.Changes {
		from, to := c.values()
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", c.symbol(), markdownCode(c.Key), markdownCode(term.Shorten(from, maxCommentValue)),
			markdownCode(term.Shorten(to, maxCommentValue)), markdownText(c.effect()), markdownCode(c.Origin))
	}
	b.WriteString("\n")
}

func writeMarkdownHold(b *strings.Builder, h heldSteps) {
	what, hint := markdownText(strings.Join(h.what, "; ")), term.Prefixed(" — ", markdownCode(h.Hint))
	if h.Reason.IsOrder() {
		fmt.Fprintf(b, "- %s waits: %s%s\n", what, markdownText(h.Message), hint)
	} else {
		fmt.Fprintf(b, "- **held** %s (%s): %s%s\n", what, h.Reason, markdownText(h.Message), hint)
	}
	for _, u := range h.Uncounted {
		fmt.Fprintf(b, "  - %s\n", markdownText(u.Message))
	}
	writeMarkdownVolumes(b, h.volumes)
}

func writeMarkdownVolumes(b *strings.Builder, volumes []string) {
	for _, v := range volumes {
		fmt.Fprintf(b, "  - destroys %s\n", markdownCode(v))
	}
}

// unlinked inserts zero-width spaces, so that forges create no links and no mentions, also after they decode entities.
var unlinked = strings.NewReplacer("@", "@\u200b", "://", ":\u200b//", "www.", "www\u200b.", "#", "#\u200b")

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "!", `\!`, "~", `\~`, "$", `\$`,
)

// markdownText escapes text, so that it contains no markup: it comes from manifests and from the cluster.
func markdownText(text string) string {
	return markdownEscapes.Replace(unlinked.Replace(term.Printable(text)))
}

// markdownHTML escapes text for the content of an HTML element, which is not Markdown.
func markdownHTML(text string) string {
	return html.EscapeString(unlinked.Replace(term.Printable(text)))
}

// markdownCode returns text as a code span that is also valid in a table, or "" if text is empty.
func markdownCode(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll(term.Printable(text), "|", `\|`)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if fence != "`" {
		text = " " + text + " "
	}
	return fence + text + fence
}
