package planview

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/reconcile/gate"
)

// Bounds of a comment. Forges refuse longer ones: GitHub takes 65,536 characters.
const (
	maxComment      = 60_000 // bytes
	maxSummaryRows  = 150    // guests in the table at the top
	maxWarnings     = 20     // of the manifests
	maxCommentValue = 200    // runes of a value
)

// WriteMarkdown prints a plan as a comment on a pull request: a table with one row per guest, and a section per guest that opens on a click.
// Guests that do not fit are counted.
func WriteMarkdown(out io.Writer, d Document) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### %s\n\n%s\n", d.Summary, markdownText(d.heading()))
	writeMarkdownWarnings(&b, d.Warnings)
	writeMarkdownSummary(&b, d.Guests)
	left := 0
	for _, g := range d.Guests {
		section := markdownSection(g)
		if b.Len()+len(section) > maxComment {
			left++
			continue
		}
		b.WriteString(section)
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n**The details of %s are left out**: a comment has no room for them. `gitops-agent plan` prints them.\n", term.Count(left, "guest"))
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

// markdownSection returns all about one guest. Its head is HTML, where markdown does not count.
func markdownSection(g guestView) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary><code>%s</code> <code>%s</code>%s</summary>\n\n", g.Action.symbol(), markdownHTML(g.label()), term.Prefixed(" ", markdownHTML(g.read())))
	if g.Origin != "" {
		fmt.Fprintf(&b, "asked by %s\n\n", markdownCode(g.Origin))
	}
	writeMarkdownChanges(&b, g)
	for _, s := range g.Steps {
		if s.Held != "" || s.obvious() {
			continue
		}
		fmt.Fprintf(&b, "- %s%s\n", markdownText(s.what()), term.Prefixed(": ", markdownText(s.why())))
		writeMarkdownVolumes(&b, s.Volumes)
	}
	for _, h := range g.holds() {
		writeMarkdownHold(&b, h)
	}
	for _, c := range g.remarks() {
		fmt.Fprintf(&b, "- **%s** (%s): %s%s\n", c.Type, markdownText(c.Reason), markdownText(c.Message), term.Prefixed(" — ", markdownText(c.Hint)))
	}
	b.WriteString("\n</details>\n")
	return b.String()
}

func writeMarkdownChanges(b *strings.Builder, g guestView) {
	if len(g.Changes) == 0 {
		return
	}
	b.WriteString("| | key | from | to | effect | asked by |\n|---|---|---|---|---|---|\n")
	for _, c := range g.Changes {
		from, to := c.values()
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", c.symbol(), markdownCode(c.Key), markdownCode(term.Shorten(from, maxCommentValue)),
			markdownCode(term.Shorten(to, maxCommentValue)), markdownText(c.effect()), markdownCode(c.Origin))
	}
	b.WriteString("\n")
}

func writeMarkdownHold(b *strings.Builder, h hold) {
	what, hint := markdownText(strings.Join(h.what, "; ")), term.Prefixed(" — ", markdownCode(h.hint))
	if h.reason == gate.HoldWaits {
		fmt.Fprintf(b, "- %s waits: %s%s\n", what, markdownText(h.message), hint)
	} else {
		fmt.Fprintf(b, "- **held** %s (%s): %s%s\n", what, h.reason, markdownText(h.message), hint)
	}
	writeMarkdownVolumes(b, h.volumes)
}

func writeMarkdownVolumes(b *strings.Builder, volumes []string) {
	for _, v := range volumes {
		fmt.Fprintf(b, "  - destroys %s\n", markdownCode(v))
	}
}

// unlinked breaks what forges make links and mentions of, also after they decoded entities, by a space without width.
var unlinked = strings.NewReplacer("@", "@\u200b", "://", ":\u200b//", "www.", "www\u200b.", "#", "#\u200b")

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "!", `\!`, "~", `\~`,
)

// markdownText keeps text from being read as markup: it comes from manifests and from the cluster.
func markdownText(text string) string {
	return markdownEscapes.Replace(unlinked.Replace(term.Printable(text)))
}

// markdownHTML is markdownText inside of an HTML element, whose content is no markdown.
func markdownHTML(text string) string {
	return html.EscapeString(unlinked.Replace(term.Printable(text)))
}

// markdownCode returns text as a code span that also survives a table; nothing is an empty one.
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
