package setup

import (
	"fmt"
	"strings"

	"gitops-agent/internal/agent"
)

// field is a field of the config that init decides, with its value as text.
type field struct{ name, value string }

// fieldsOf returns the fields that init decides. What an operator added to a config is not among them.
func fieldsOf(c agent.Config) []field {
	fields := []field{
		{"cluster.name", c.Cluster.Name},
		{"source.branch", c.Source.Branch},
		{"source.paths", strings.Join(c.Source.Paths, ", ")},
		{"trust.trusted_root_file", c.Trust.TrustedRootFile},
		{"trust.tuf.url", c.Trust.TUF.URL},
		{"trust.tuf.root_file", c.Trust.TUF.RootFile},
		{"trust.binding", c.Trust.Binding},
		{"trust.anchor", c.Trust.Anchor},
		{"proxmox.endpoints", strings.Join(c.Proxmox.Endpoints, ", ")},
		{"proxmox.fingerprints", strings.ToUpper(strings.Join(c.Proxmox.Fingerprints, ", "))},
		{"proxmox.ca_file", c.Proxmox.CAFile},
		{"proxmox.token_file", c.Proxmox.TokenFile},
		{"state_dir", c.StateDir},
	}
	for i, r := range c.Source.Remotes {
		at := fmt.Sprintf("source.remotes[%d].", i)
		fields = append(fields, field{at + "url", r.URL}, field{at + "username", r.Username}, field{at + "token_file", r.TokenFile},
			field{at + "ssh_key_file", r.SSHKeyFile}, field{at + "known_hosts_file", r.KnownHostsFile}, field{at + "ca_file", r.CAFile})
	}
	for i, s := range c.Trust.Signers {
		at := fmt.Sprintf("trust.signers[%d].", i)
		fields = append(fields, field{at + "name", s.Name}, field{at + "issuer", s.Issuer}, field{at + "subject", s.Subject + s.SubjectRegexp}, field{at + "may", strings.Join(s.May, ", ")})
		for _, e := range extensionsOf(s.Extensions) {
			fields = append(fields, field{at + "extensions." + e.name, e.value})
		}
	}
	return fields
}

// differences returns a line for each field whose value differs.
func differences(before, after []field) []string {
	values := func(fields []field) map[string]string {
		m := map[string]string{}
		for _, f := range fields {
			m[f.name] = f.value
		}
		return m
	}
	old, wanted := values(before), values(after)
	var lines []string
	for _, f := range after {
		if old[f.name] != f.value {
			lines = append(lines, fmt.Sprintf("%s: the file has %q, and init would write %q", f.name, old[f.name], f.value))
		}
	}
	for _, f := range before {
		if _, still := wanted[f.name]; !still {
			lines = append(lines, fmt.Sprintf("%s: the file has %q, and init would leave it out", f.name, f.value))
		}
	}
	return lines
}
