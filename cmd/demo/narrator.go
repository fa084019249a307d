package main

import (
	"fmt"
	"io"
	"strings"
)

// narrator prints the story.
type narrator struct {
	out    io.Writer
	colour bool
}

func (n narrator) paint(code, text string) string {
	if !n.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (n narrator) opening(s *stage) {
	n.line("%s", n.paint("1", "gitops-agent, the whole story"))
	n.line("")
	n.line("A simulated Proxmox VE cluster answers at %s.", s.endpoint)
	n.line("People commit to %s and sign with a Sigstore in memory.", s.repo.work)
	n.line("The agent polls the repository every second and serves http://%s/", s.agent.Address())
}

func (n narrator) chapter(number int, title string) {
	n.line("")
	n.line("%s", n.paint("1;36", fmt.Sprintf("%d. %s", number, title)))
}

// says tells what somebody does.
func (n narrator) says(format string, args ...any) {
	n.line("   "+format, args...)
}

// checked tells what the simulator confirmed.
func (n narrator) checked(format string, args ...any) {
	n.line("   %s %s", n.paint("32", "✓"), fmt.Sprintf(format, args...))
}

func (n narrator) end() {
	n.line("")
	n.line("%s", n.paint("1;32", "Every chapter was checked on the simulated cluster."))
}

// hints tells the reader how to go on alone.
func (n narrator) hints(s *stage) {
	n.line("")
	n.line("Everything stays up until you press Ctrl-C:")
	n.line("   status page   http://%s/", s.agent.Address())
	n.line("   metrics       http://%s/metrics", s.agent.Address())
	n.line("")
	n.line("Push a change of your own; commits in this folder are signed as alice, who may change guests:")
	n.line("   cd %s", s.repo.work)
	n.line("   sed -i 's/tags: .*/tags: [prod, web, mine]/' web.yaml")
	n.line("   git commit -am 'tag web-1' && git push")
	n.line("")
	n.line("Approve a held step as olga, who may approve (the page shows the digest of a step that is held):")
	n.line("   git -c user.name=olga -c gpg.x509.program=%s commit --allow-empty -m 'Approve' -m 'Gitops-Approve: DIGEST' && git push", s.repo.program("olga"))
	n.line("")
	n.line("Push something that nobody signed, and watch it being refused:")
	n.line("   git commit --no-gpg-sign --allow-empty -m 'not signed' && git push")
	n.line("   git reset --hard HEAD~1 && git push --force    # take it back: nothing on top of it would be accepted either")
}

func (n narrator) line(format string, args ...any) {
	_, _ = fmt.Fprintf(n.out, strings.TrimRight(format, " ")+"\n", args...)
}
