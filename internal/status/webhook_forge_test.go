package status_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/status"
)

// signed returns the HMAC-SHA256 of a body in hex.
func signed(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

// hook is what the forges of a handler did.
type hook struct {
	hints   int
	results map[string]int
	log     bytes.Buffer
}

// forgesHandler returns a handler with a webhook of each forge and secret.
func forgesHandler(h *hook, webhooks ...status.Webhook) http.Handler {
	opts := optionsFor(steady())
	h.results = map[string]int{}
	opts.Hint, opts.Webhooks, opts.Logger = func() { h.hints++ }, webhooks, textLogger(&h.log)
	opts.OnWebhook = func(r status.WebhookResult) { h.results[string(r)]++ }
	return status.Handler(opts)
}

func secretOf(forge status.WebhookForge, secret string) status.Webhook {
	return status.Webhook{Forge: forge, Secret: func() (string, error) { return secret, nil }}
}

// The signatures of the first rows are in the documentation of GitHub and Bitbucket. The others were made as the forges document.
func TestWebhookOfEachForge(t *testing.T) {
	t.Parallel()
	const everybody = "It's a Secret to Everybody"
	const push = `{"ref":"refs/heads/main","after":"1111111111111111111111111111111111111111"}`
	tests := map[string]struct {
		forge        status.WebhookForge
		secret       string
		header, text string
		body         string
		code         int
	}{
		"github_documented":     {status.WebhookGitHub, everybody, "X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "Hello, World!", 202},
		"bitbucket_documented":  {status.WebhookBitbucket, everybody, "X-Hub-Signature", "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9", "Hello World!", 202},
		"github_push":           {status.WebhookGitHub, "s3cret", "X-Hub-Signature-256", "sha256=" + signed("s3cret", push), push, 202},
		"github_upper":          {status.WebhookGitHub, "s3cret", "X-Hub-Signature-256", "sha256=" + strings.ToUpper(signed("s3cret", push)), push, 202},
		"github_changed_body":   {status.WebhookGitHub, "s3cret", "X-Hub-Signature-256", "sha256=" + signed("s3cret", push), push + " ", 401},
		"github_other_secret":   {status.WebhookGitHub, "s3cret", "X-Hub-Signature-256", "sha256=" + signed("secret", push), push, 401},
		"github_without_prefix": {status.WebhookGitHub, "s3cret", "X-Hub-Signature-256", signed("s3cret", push), push, 401},
		"github_sha1_header":    {status.WebhookGitHub, "s3cret", "X-Hub-Signature", "sha256=" + signed("s3cret", push), push, 401},
		"github_short":          {status.WebhookGitHub, "s3cret", "X-Hub-Signature-256", "sha256=" + signed("s3cret", push)[:62], push, 401},
		"github_empty":          {status.WebhookGitHub, "s3cret", "X-Hub-Signature-256", "sha256=", push, 401},
		"github_unsigned":       {status.WebhookGitHub, "s3cret", "X-Github-Event", "push", push, 401},
		"github_empty_key":      {status.WebhookGitHub, "", "X-Hub-Signature-256", "sha256=" + signed("", push), push, 503},
		"gitea":                 {status.WebhookGitea, "s3cret", "X-Gitea-Signature", signed("s3cret", push), push, 202},
		"forgejo":               {status.WebhookGitea, "s3cret", "X-Forgejo-Signature", signed("s3cret", push), push, 202},
		"gitea_wrong":           {status.WebhookGitea, "s3cret", "X-Gitea-Signature", signed("other", push), push, 401},
		"gitea_prefixed":        {status.WebhookGitea, "s3cret", "X-Gitea-Signature", "sha256=" + signed("s3cret", push), push, 401},
		"gitlab":                {status.WebhookGitLab, "s3cret", "X-Gitlab-Token", "s3cret", push, 202},
		"gitlab_wrong":          {status.WebhookGitLab, "s3cret", "X-Gitlab-Token", "s3crets", push, 401},
		"gitlab_empty":          {status.WebhookGitLab, "", "X-Gitlab-Token", "", push, 503},
		"gitlab_bearer":         {status.WebhookGitLab, "s3cret", "Authorization", "Bearer s3cret", push, 401},
		"bitbucket_push":        {status.WebhookBitbucket, "s3cret", "X-Hub-Signature", "sha256=" + signed("s3cret", push), push, 202},
		"bitbucket_sha1":        {status.WebhookBitbucket, "s3cret", "X-Hub-Signature", "sha1=" + signed("s3cret", push), push, 401},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h hook
			r := httptest.NewRequest(http.MethodPost, "/webhook/"+string(test.forge), strings.NewReader(test.body))
			r.Header.Set(test.header, test.text)
			res, body := send(t, forgesHandler(&h, secretOf(test.forge, test.secret)), r)
			hints, result := 0, map[int]string{202: "accepted", 401: "credentials", 503: "secret"}[test.code]
			if test.code == http.StatusAccepted {
				hints = 1
			}
			if res.Code != test.code || h.hints != hints {
				t.Errorf("got status %d and %d hints, want %d and %d", res.Code, h.hints, test.code, hints)
			}
			if diff := cmp.Diff(map[string]int{result: 1}, h.results); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if test.secret != "" && strings.Contains(body+h.log.String(), test.secret) {
				t.Errorf("got the secret in the reply or the log:\n%s%s", body, h.log.String())
			}
		})
	}
}

func TestWebhookPathsAndMethods(t *testing.T) {
	t.Parallel()
	var h hook
	handler := forgesHandler(&h, secretOf(status.WebhookGitLab, "s3cret"))
	for _, test := range []struct {
		method, path string
		code         int
	}{
		{http.MethodPost, "/webhook/gitlab", 202},
		{http.MethodGet, "/webhook/gitlab", 405},
		{http.MethodPut, "/webhook/gitlab", 405},
		{http.MethodPost, "/webhook", 404},
		{http.MethodPost, "/webhook/github", 404},
		{http.MethodPost, "/webhook/gitlab/x", 404},
	} {
		r := httptest.NewRequest(test.method, test.path, nil)
		r.Header.Set("X-Gitlab-Token", "s3cret")
		r.Header.Set("Authorization", "Bearer s3cret")
		if res, _ := send(t, handler, r); res.Code != test.code {
			t.Errorf("%s %s: got status %d, want %d", test.method, test.path, res.Code, test.code)
		}
	}
	if h.hints != 1 {
		t.Errorf("got %d hints, want 1", h.hints)
	}
}

// While a secret is replaced, the old and the new one are accepted.
func TestWebhookSecretsOfOneForge(t *testing.T) {
	t.Parallel()
	var h hook
	handler := forgesHandler(&h, secretOf(status.WebhookGitHub, "old"), secretOf(status.WebhookGitHub, "new"))
	for secret, want := range map[string]int{"old": 202, "new": 202, "older": 401} {
		r := httptest.NewRequest(http.MethodPost, "/webhook/github", strings.NewReader("body"))
		r.Header.Set("X-Hub-Signature-256", "sha256="+signed(secret, "body"))
		if res, _ := send(t, handler, r); res.Code != want {
			t.Errorf("secret %s: got status %d, want %d", secret, res.Code, want)
		}
	}
}

func TestWebhookSignedBodyIsBounded(t *testing.T) {
	t.Parallel()
	var h hook
	handler := forgesHandler(&h, secretOf(status.WebhookGitHub, "s3cret"))
	ask := func(signature string, body io.Reader) int {
		r := httptest.NewRequest(http.MethodPost, "/webhook/github", body)
		r.Header.Set("X-Hub-Signature-256", signature)
		res, _ := send(t, handler, r)
		return res.Code
	}
	body := &endless{}
	if code := ask("sha256="+signed("s3cret", ""), body); code != http.StatusRequestEntityTooLarge || body.read > 26<<20 {
		t.Errorf("got status %d after %d bytes, want 413 after about 25 MiB", code, body.read)
	}
	unread := &endless{}
	if code := ask("sha256=short", unread); code != http.StatusUnauthorized || unread.read != 0 {
		t.Errorf("got status %d and %d bytes read for a malformed signature, want 401 and none", code, unread.read)
	}
	if code := ask("sha256="+signed("s3cret", "x"), io.MultiReader(strings.NewReader("x"), broken{})); code != http.StatusUnauthorized {
		t.Errorf("got status %d for a body that breaks off, want 401", code)
	}
	if h.hints != 0 {
		t.Errorf("got %d hints, want 0", h.hints)
	}
}

// broken is a body whose connection ends.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// All forges share one limit, and refused requests do not count.
func TestWebhookRateOfAllForges(t *testing.T) {
	t.Parallel()
	atNoon(t, func(t *testing.T) {
		var h hook
		handler := forgesHandler(&h, secretOf(status.WebhookGitLab, "s3cret"), secretOf(status.WebhookBearer, "t0ken"))
		for range 8 {
			r := httptest.NewRequest(http.MethodPost, "/webhook/gitlab", nil)
			r.Header.Set("X-Gitlab-Token", "s3cret")
			send(t, handler, r)
			send(t, handler, post("Bearer t0ken", nil))
			send(t, handler, post("Bearer wrong", nil))
		}
		want := map[string]int{"accepted": 10, "rate": 6, "credentials": 8}
		if diff := cmp.Diff(want, h.results); diff != "" || h.hints != 10 {
			t.Errorf("got %d hints, want 10; results (-want +got):\n%s", h.hints, diff)
		}
	})
}

func FuzzWebhookSignature(f *testing.F) {
	f.Add("s3cret", "sha256="+signed("s3cret", "body"), "body")
	f.Add("", "sha256="+signed("", ""), "")
	f.Fuzz(func(t *testing.T, secret, header, body string) {
		var h hook
		r := httptest.NewRequest(http.MethodPost, "/webhook/github", strings.NewReader(body))
		r.Header["X-Hub-Signature-256"] = []string{header}
		send(t, forgesHandler(&h, secretOf(status.WebhookGitHub, secret)), r)
		want := 0
		if digits, found := strings.CutPrefix(header, "sha256="); found && secret != "" && strings.EqualFold(digits, signed(secret, body)) {
			want = 1
		}
		if h.hints != want {
			t.Errorf("secret %q, header %q: got %d hints, want %d", secret, header, h.hints, want)
		}
	})
}
