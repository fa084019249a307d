package setup

import (
	"encoding/json"
	"fmt"
	"strings"

	"gitops-agent/internal/agent"
)

// decisions are why the config is what it is, by the part that they are about.
type decisions map[string]string

// render returns the config as text, with each decision as a comment. It fails if the text would mean something else than was decided.
func (s *setup) render() ([]byte, error) {
	text := s.text()
	parsed, err := agent.ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("write the config: %w", err)
	}
	if differ := differences(fieldsOf(s.config), fieldsOf(parsed)); len(differ) > 0 {
		return nil, fmt.Errorf("write the config: %s", strings.Join(differ, "; "))
	}
	return text, nil
}

func (s *setup) text() []byte {
	w := &yamlWriter{decisions: s.decisions}
	c := s.config
	w.line("# The config of gitops-agent, written by gitops-agent init. Keep it on this host: it decides whom the agent trusts.")
	w.line("# `gitops-agent config example` prints every setting; after a change: gitops-agent config check --cluster")
	w.line("")
	w.line("# The metadata.name of the repository's Cluster manifest.")
	w.line("cluster: {name: %s}", quoted(c.Cluster.Name))
	w.line("")
	w.line("source:")
	w.line("  branch: %s", quoted(c.Source.Branch))
	w.list("  paths: ", c.Source.Paths)
	w.line("  remotes:")
	for _, r := range c.Source.Remotes {
		w.line("    - url: %s", quoted(r.URL))
		for _, f := range []field{{"username", r.Username}, {"token_file", r.TokenFile}, {"ssh_key_file", r.SSHKeyFile}, {"known_hosts_file", r.KnownHostsFile}, {"ca_file", r.CAFile}} {
			w.setting("      ", f)
		}
	}
	w.line("")
	w.line("trust:")
	w.comment("root")
	w.setting("  ", field{"trusted_root_file", c.Trust.TrustedRootFile})
	if c.Trust.TUF.URL != "" {
		w.line("  tuf: {url: %s, root_file: %s}", quoted(c.Trust.TUF.URL), quoted(c.Trust.TUF.RootFile))
	}
	w.comment("anchor")
	w.setting("  ", field{"anchor", c.Trust.Anchor})
	w.comment("binding")
	w.setting("  ", field{"binding", c.Trust.Binding})
	w.comment("signers")
	w.line("  signers:")
	for _, signer := range c.Trust.Signers {
		w.signer(signer)
	}
	w.line("")
	w.line("proxmox:")
	w.list("  endpoints: ", c.Proxmox.Endpoints)
	w.comment("certificate")
	w.setting("  ", field{"ca_file", c.Proxmox.CAFile})
	w.list("  fingerprints: ", c.Proxmox.Fingerprints)
	w.line("  # One line, user@realm!name=secret. A reader of this file can do what the agent can do.")
	w.setting("  ", field{"token_file", c.Proxmox.TokenFile})
	w.line("")
	w.line("# The journal and the fetched repository.")
	w.setting("", field{"state_dir", c.StateDir})
	return []byte(w.text.String())
}

// yamlWriter writes the lines of a config.
type yamlWriter struct {
	text      strings.Builder
	decisions decisions
}

func (w *yamlWriter) line(format string, args ...any) { fmt.Fprintf(&w.text, format+"\n", args...) }

func (w *yamlWriter) comment(about string) {
	if text := w.decisions[about]; text != "" {
		w.line("  # %s", text)
	}
}

// setting writes a field that has a value.
func (w *yamlWriter) setting(indent string, f field) {
	if f.value != "" {
		w.line("%s%s: %s", indent, f.name, quoted(f.value))
	}
}

func (w *yamlWriter) list(label string, values []string) {
	if len(values) == 0 {
		return
	}
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = quoted(v)
	}
	w.line("%s[%s]", label, strings.Join(list, ", "))
}

func (w *yamlWriter) signer(s agent.SignerConfig) {
	w.line("    - name: %s", quoted(s.Name))
	w.setting("      ", field{"issuer", s.Issuer})
	w.setting("      ", field{"subject", s.Subject})
	w.list("      may: ", s.May)
	extensions := extensionsOf(s.Extensions)
	if len(extensions) == 0 {
		return
	}
	w.line("      # What the certificate must contain, as it was in the commit.")
	w.line("      extensions:")
	for _, e := range extensions {
		w.setting("        ", e)
	}
}

// quoted returns a text as a double-quoted scalar of YAML, whose form is that of JSON.
func quoted(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return `""` // a string cannot fail
	}
	return strings.TrimSuffix(b.String(), "\n")
}
