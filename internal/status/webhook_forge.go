package status

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"

	"gitops-agent/internal/status/access"
)

// WebhookForge is the program that sends a webhook: it decides how a request proves that it knows the secret.
type WebhookForge string

// The senders of webhooks. Forgejo is Gitea's.
const (
	WebhookBearer    WebhookForge = "bearer"    // any program: "Authorization: Bearer <secret>"
	WebhookGitHub    WebhookForge = "github"    // X-Hub-Signature-256: "sha256=" and the HMAC-SHA256 of the body in hex
	WebhookGitea     WebhookForge = "gitea"     // X-Gitea-Signature, for Forgejo also X-Forgejo-Signature: the HMAC-SHA256 of the body in hex
	WebhookGitLab    WebhookForge = "gitlab"    // X-Gitlab-Token: the secret
	WebhookBitbucket WebhookForge = "bitbucket" // X-Hub-Signature: as GitHub's
)

// WebhookForges lists every sender, for checks of a config.
func WebhookForges() []WebhookForge {
	return []WebhookForge{WebhookBearer, WebhookGitHub, WebhookGitea, WebhookGitLab, WebhookBitbucket}
}

// path returns the path of the webhook.
func (f WebhookForge) path() string {
	if f == WebhookBearer {
		return "/webhook"
	}
	return "/webhook/" + string(f)
}

// WebhookResult is what became of a webhook. It is a label of metrics.
type WebhookResult string

// Results of webhooks.
const (
	WebhookAccepted    WebhookResult = "accepted"
	WebhookCredentials WebhookResult = "credentials" // no token or signature, or a wrong one
	WebhookRate        WebhookResult = "rate"
	WebhookSize        WebhookResult = "size"   // of the body
	WebhookSecret      WebhookResult = "secret" // the agent cannot read the secret
)

// WebhookResults lists every result, for metrics that start at zero.
func WebhookResults() []WebhookResult {
	return []WebhookResult{WebhookAccepted, WebhookCredentials, WebhookRate, WebhookSize, WebhookSecret}
}

// maxSignedBody bounds a signed body, in bytes: the largest that GitHub sends. It is not kept in memory.
const maxSignedBody = 25 << 20

var (
	errWebhookCredentials = errors.New("the credentials are missing or wrong")
	errNotComplete        = errors.New("the body did not arrive")
)

// proof is what a request states to prove that its sender knows the secret.
type proof struct {
	token     string // compared with the secret
	signature []byte // of the body
	isSigned  bool
}

// proofOf reads the proof from the headers. It returns false without one, or if it does not have the form that the forge sends, so that no
// body is read for it.
func (f WebhookForge) proofOf(header http.Header) (proof, bool) {
	switch f {
	case WebhookGitLab:
		token := header.Get("X-Gitlab-Token")
		return proof{token: token}, token != ""
	case WebhookGitHub:
		return signatureOf(header.Get("X-Hub-Signature-256"), "sha256=")
	case WebhookBitbucket:
		return signatureOf(header.Get("X-Hub-Signature"), "sha256=")
	case WebhookGitea:
		text := header.Get("X-Forgejo-Signature")
		if text == "" {
			text = header.Get("X-Gitea-Signature")
		}
		return signatureOf(text, "")
	case WebhookBearer:
		scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
		return proof{token: token}, token != "" && strings.EqualFold(scheme, "Bearer")
	}
	return proof{}, false
}

func signatureOf(text, prefix string) (proof, bool) {
	digits, found := strings.CutPrefix(text, prefix)
	signature, err := hex.DecodeString(digits)
	return proof{signature: signature, isSigned: true}, found && err == nil && len(signature) == sha256.Size
}

// check returns nil if the proof was made with one of the secrets, which must not be empty. It reads a body that is signed, and no other. The
// comparisons take the same time for every proof.
func (p proof) check(secrets []string, body io.Reader) error {
	matches := 0
	if !p.isSigned {
		for _, secret := range secrets {
			if access.IsToken(p.token, secret) {
				matches = 1
			}
		}
		return okIf(matches)
	}
	writers := make([]io.Writer, 0, len(secrets))
	for _, secret := range secrets {
		writers = append(writers, hmac.New(sha256.New, []byte(secret)))
	}
	if _, err := io.Copy(io.MultiWriter(writers...), body); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return err
		}
		return errNotComplete
	}
	for _, w := range writers {
		matches |= subtle.ConstantTimeCompare(w.(interface{ Sum([]byte) []byte }).Sum(nil), p.signature)
	}
	return okIf(matches)
}

func okIf(matches int) error {
	if matches == 0 {
		return errWebhookCredentials
	}
	return nil
}
