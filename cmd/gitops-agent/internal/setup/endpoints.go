package setup

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/docs"
)

// decideEndpoints shows the certificate of each endpoint and pins it once it is trusted. It sends nothing but the handshake of TLS.
func (s *setup) decideEndpoints(ctx context.Context) error {
	s.heading("API of Proxmox")
	existing := strings.Join(s.config.Proxmox.Endpoints, " ")
	text, err := s.answer(ctx, "endpoint HOST", strings.Join(s.Endpoints, " "), existing, "Nodes, separated by spaces (pve1.lan pve2.lan)", "")
	if err != nil {
		return err
	}
	var endpoints []string
	for name := range strings.FieldsSeq(text) {
		endpoint, err := normalEndpoint(name)
		if err != nil {
			return err
		}
		endpoints = append(endpoints, endpoint)
	}
	s.config.Proxmox.Endpoints = endpoints
	if s.CAFile != "" {
		s.config.Proxmox.CAFile = s.CAFile
		if err := absolute(&s.config.Proxmox.CAFile); err != nil {
			return err
		}
	}
	if len(s.Fingerprints) > 0 {
		s.config.Proxmox.Fingerprints = s.Fingerprints
	}
	if s.config.Proxmox.CAFile != "" || len(s.config.Proxmox.Fingerprints) > 0 {
		s.decisions["certificate"] = "Given with --ca-file or --fingerprint."
		return s.checkGiven(ctx)
	}
	for _, endpoint := range endpoints {
		if err := s.decideCertificate(ctx, endpoint); err != nil {
			return err
		}
	}
	return nil
}

// normalEndpoint returns the form of the config for what a person types: pve1.lan, pve1.lan:8006 or https://pve1.lan:8006/.
func normalEndpoint(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "", term.UsageErrorf("--endpoint: want a host such as pve1.lan or https://pve1.lan:8006")
	case u.User != nil:
		return "", term.UsageErrorf("--endpoint: the address must not contain credentials: the token is in a file")
	case u.Scheme != "https":
		return "", term.UsageErrorf("--endpoint %q: only https, because the token would be sent unencrypted", text)
	}
	port := u.Port()
	if port == "" {
		port = "8006"
	}
	return "https://" + net.JoinHostPort(u.Hostname(), port), nil
}

// checkGiven compares a given fingerprint with the certificates at once, so that a wrong one is not found only after other answers. An endpoint that does not
// answer is reported by the check at the end.
func (s *setup) checkGiven(ctx context.Context) error {
	for _, endpoint := range s.config.Proxmox.Endpoints {
		certificate, err := certificateOf(ctx, endpoint)
		if err != nil {
			s.say("%s does not answer: %v", endpoint, err)
			continue
		}
		got := fingerprint(certificate)
		s.say("%s has the fingerprint %s", endpoint, got)
		known := slices.ContainsFunc(s.config.Proxmox.Fingerprints, func(pin string) bool {
			return strings.EqualFold(strings.ReplaceAll(pin, ":", ""), strings.ReplaceAll(got, ":", ""))
		})
		if !known && len(s.config.Proxmox.Fingerprints) > 0 {
			return term.WithHint(fmt.Errorf("the certificate of %s has the fingerprint %s, which is not among those given", endpoint, got), compareHint)
		}
	}
	return nil
}

const compareHint = "on the node: openssl x509 -noout -fingerprint -sha256 -in /etc/pve/local/pveproxy-ssl.pem, or pve-ssl.pem if that file is not there"

// decideCertificate pins the certificate of an endpoint, unless an authority of the system vouches for it.
func (s *setup) decideCertificate(ctx context.Context, endpoint string) error {
	certificate, err := certificateOf(ctx, endpoint)
	if err != nil {
		return term.WithHint(fmt.Errorf("connect to %s: %w", endpoint, err), "check the name and the port, and the firewall between this host and the node")
	}
	u, _ := url.Parse(endpoint)
	if _, err := certificate.Verify(x509.VerifyOptions{DNSName: u.Hostname()}); err == nil {
		s.decisions["certificate"] = "An authority of this system has issued the certificate, so nothing is pinned."
		s.say("%s has a certificate of an authority that this system trusts", endpoint)
		return nil
	}
	got := fingerprint(certificate)
	s.say("%s shows a certificate that no authority of this system has issued:", endpoint)
	s.say("subject      %s", certificate.Subject)
	s.say("issuer       %s", certificate.Issuer)
	s.say("valid until  %s", certificate.NotAfter.UTC().Format(time.RFC3339))
	s.say("fingerprint  %s", got)
	s.say("Compare it with the node's: %s", strings.TrimPrefix(compareHint, "on the node: "))
	if err := s.trust(ctx, "fingerprint "+got, "Is this the fingerprint that the node prints?"); err != nil {
		return err
	}
	s.config.Proxmox.Fingerprints = append(s.config.Proxmox.Fingerprints, got)
	s.decisions["certificate"] = "Compared with the nodes, and confirmed. When Proxmox renews a certificate, add the new fingerprint; ca_file with /etc/pve/pve-root-ca.pem of a node needs no change."
	return nil
}

// certificateOf returns the certificate that a server shows. It is not trusted, and nothing is sent.
func certificateOf(ctx context.Context, endpoint string) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	dialer := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}} //nolint:gosec // the certificate is shown to a person, who decides
	conn, err := dialer.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	shown := conn.(*tls.Conn).ConnectionState().PeerCertificates //nolint:forcetypeassert // as tls.Dialer documents
	if len(shown) == 0 {
		return nil, errors.New("the server shows no certificate")
	}
	return shown[0], nil
}

// fingerprint returns the SHA-256 of a certificate as Proxmox shows it.
func fingerprint(c *x509.Certificate) string {
	digest := sha256.Sum256(c.Raw)
	parts := make([]string, len(digest))
	for i, b := range digest {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}

// attempts is how often a token may be typed.
const attempts = 3

// decideToken prints how to make a token, and checks the one that is given.
func (s *setup) decideToken(ctx context.Context) error {
	own := filepath.Join(s.dir, "token")
	if s.config.Proxmox.TokenFile == "" || s.TokenFile != "" {
		s.config.Proxmox.TokenFile = s.TokenFile
	}
	if _, err := os.Stat(own); s.config.Proxmox.TokenFile == "" && err == nil {
		s.config.Proxmox.TokenFile = own
	}
	if s.config.Proxmox.TokenFile == "" {
		s.heading("Token")
		s.say("These commands make the agent's role, user and token. Run them as root on a node; the last one prints the secret, once:")
		_, _ = fmt.Fprintf(s.Out, "\n%s\n", docs.RoleCommands())
		if s.Yes || s.Dialogue == nil {
			return needsFlag("token-file FILE", "The token of the agent, in a file with one line: gitops@pve!agent=<secret>")
		}
		return s.askToken(ctx, own)
	}
	if err := absolute(&s.config.Proxmox.TokenFile); err != nil {
		return err
	}
	return s.checkToken(ctx, s.config.Proxmox.TokenFile)
}

// askToken asks for the token, checks it, and adds its file.
func (s *setup) askToken(ctx context.Context, own string) error {
	for attempt := 1; ; attempt++ {
		line, err := s.Dialogue.AskSecret(ctx, "  Token, gitops@pve!agent=<secret> (not shown)")
		if err != nil {
			return err
		}
		temporary := filepath.Join(s.scratch, "token")
		if err := os.WriteFile(temporary, []byte(line+"\n"), 0o600); err != nil {
			return fmt.Errorf("write the token for its check: %w", err)
		}
		err = s.checkToken(ctx, temporary)
		if err == nil {
			s.config.Proxmox.TokenFile = own
			s.files = append(s.files, file{path: own, content: []byte(line + "\n"), mode: modeSecret})
			return nil
		}
		if attempt == attempts || ctx.Err() != nil {
			return err
		}
		s.say("%s", strings.ReplaceAll(err.Error(), temporary, "of your answer"))
	}
}

// checkToken reads the version of the cluster with a token. The check at the end compares its privileges.
func (s *setup) checkToken(ctx context.Context, path string) error {
	config := s.config
	config.Proxmox.TokenFile = path
	reader, err := config.ProxmoxReader(s.Logger)
	if err != nil {
		return err
	}
	defer reader.Close()
	version, err := reader.Version(ctx)
	if err != nil {
		return fmt.Errorf("use the token: %w", err)
	}
	s.say("Proxmox VE %s accepts the token", version.String())
	return nil
}
