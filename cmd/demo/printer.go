package main

import (
	"fmt"
	"io"
	"strings"
)

// printer prints the progress of the demonstration.
type printer struct {
	out    io.Writer
	colour bool
}

func (n printer) paint(code, text string) string {
	if !n.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (n printer) header(s *environment) {
	n.line("%s", n.paint("1", "gitops-agent: demonstration"))
	n.line("")
	n.line("A simulated Proxmox VE cluster answers at %s.", s.Endpoint)
	n.line("People commit to %s and sign with a Sigstore in memory.", s.Repository.Work)
	n.line("The agent polls the repository every second and serves http://%s/", s.Agent.Address())
}

func (n printer) scenario(number int, title string) {
	n.line("")
	n.line("%s", n.paint("1;36", fmt.Sprintf("%d. %s", number, title)))
}

// action prints what a person does.
func (n printer) action(format string, args ...any) {
	n.line("   "+format, args...)
}

// confirmed prints what the simulator confirmed.
func (n printer) confirmed(format string, args ...any) {
	n.line("   %s %s", n.paint("32", "✓"), fmt.Sprintf(format, args...))
}

func (n printer) end() {
	n.line("")
	n.line("%s", n.paint("1;32", "Every scenario was checked on the simulated cluster."))
}

// instructions prints what the reader can try next.
func (n printer) instructions(s *environment) {
	n.line("")
	n.line("Everything stays up until you press Ctrl-C:")
	n.line("   status page   http://%s/", s.Agent.Address())
	n.line("   metrics       http://%s/metrics", s.Agent.Address())
	n.line("")
	n.line("Push a change; commits in this folder are signed as alice, who may change and operate guests:")
	n.line("   cd %s", s.Repository.Work)
	n.line("   sed -i 's/tags: .*/tags: [prod, web, mine]/' web.yaml")
	n.line("   git commit -am 'tag web-1' && git push")
	n.line("")
	n.line("Order a one-shot operation (gitops-agent order --help lists them; stop, reset, rollback and delete-snapshot are held for an approval):")
	n.line("   git commit --allow-empty -m 'Snapshot web-1' -m $'Gitops-Run: snapshot VirtualMachine/web-1 name=before-upgrade\\nGitops-Target: home/main' && git push")
	n.line("")
	n.line("Approve a held step as olga, who may approve (the page shows the digest of a step that is held):")
	n.line("   git -c user.name=olga -c gpg.x509.program=%s commit --allow-empty -m 'Approve' -m 'Gitops-Approve: DIGEST' && git push", s.Repository.Program("olga"))
	n.line("")
	n.line("Push a commit without a signature, and see the agent refuse it:")
	n.line("   git commit --no-gpg-sign --allow-empty -m 'not signed' && git push")
	n.line("   git reset --hard HEAD~1 && git push --force    # revert the push: no commit on top of it would be accepted")
}

func (n printer) line(format string, args ...any) {
	_, _ = fmt.Fprintf(n.out, strings.TrimRight(format, " ")+"\n", args...)
}
