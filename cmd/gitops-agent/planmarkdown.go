package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"gitops-agent/reconcile"
)

// writePlanMarkdown prints a plan as a comment on a pull request.
func writePlanMarkdown(out io.Writer, d planDocument) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### %s\n\n%s\n", d.Summary, markdownText(d.heading()))
	for _, g := range d.Guests {
		fmt.Fprintf(&b, "\n#### `%s` %s\n\n", g.Action.symbol(), markdownText(g.label()))
		if len(g.Changes) > 0 {
			b.WriteString("| key | from | to | effect | asked by |\n|---|---|---|---|---|\n")
		}
		for _, c := range g.Changes {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", markdownCode(c.Key), markdownCode(c.From), markdownCode(c.To), markdownText(c.effect()), markdownText(c.Origin))
		}
		if len(g.Changes) > 0 {
			b.WriteString("\n")
		}
		for _, s := range g.Steps {
			writeMarkdownStep(&b, s)
		}
		for _, c := range g.Conditions {
			if c.Type != reconcile.Orphaned {
				fmt.Fprintf(&b, "- **%s**: %s%s\n", c.Type, markdownText(c.Message), labelled(" — ", markdownText(c.Hint)))
			}
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}

func writeMarkdownStep(b *bytes.Buffer, s stepView) {
	switch {
	case s.waits():
		fmt.Fprintf(b, "- %s waits: %s\n", s.Op, markdownText(s.Message))
	case s.Held != "":
		fmt.Fprintf(b, "- **held** %s: %s%s\n", markdownText(s.what()), markdownText(s.Message), labelled(" — ", markdownCode(s.Hint)))
	default:
		fmt.Fprintf(b, "- %s: %s\n", markdownText(s.what()), markdownText(s.Reason))
	}
	for _, v := range s.Volumes {
		fmt.Fprintf(b, "  - destroys %s\n", markdownCode(v))
	}
}

// markdownText keeps text from being read as markup: it comes from manifests and from the cluster.
func markdownText(text string) string {
	escape := strings.NewReplacer(
		`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "!", `\!`, "@", "&#64;", "~", `\~`,
	)
	return escape.Replace(printable(text))
}

// markdownCode returns text as a code span that also survives a table; nothing is an empty one.
func markdownCode(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ReplaceAll(printable(text), "|", `\|`)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if fence != "`" {
		text = " " + text + " "
	}
	return fence + text + fence
}
