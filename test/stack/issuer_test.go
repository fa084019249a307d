//go:build integration

package stack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// An issuer is an OpenID Connect issuer without a login. Tests request tokens from it directly.
type issuer struct {
	t   *testing.T
	key *ecdsa.PrivateKey
	url string
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{t: t, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.answer(w, map[string]any{
			"issuer": i.url, "jwks_uri": i.url + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"},
			"authorization_endpoint": i.url + "/auth", "token_endpoint": i.url + "/token",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		point, err := i.key.PublicKey.Bytes() // 4, x, y
		if err != nil {
			t.Error(err)
		}
		i.answer(w, map[string]any{"keys": []map[string]string{{
			"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "1", "x": base64url(point[1:33]), "y": base64url(point[33:]),
		}}})
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	i.url = srv.URL
	return i
}

func (i *issuer) answer(w http.ResponseWriter, document any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(document); err != nil {
		i.t.Error(err)
	}
}

func base64url(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// person returns a token for a person with the given mail address.
func (i *issuer) person(email string) string {
	return i.token(map[string]any{"sub": email, "email": email, "email_verified": true})
}

// workflow returns a token for a run of a workflow on main, with the claims of GitHub.
func (i *issuer) workflow(repository, file string) string {
	const ref, commit = "refs/heads/main", "9f0b2b5b4f3f4d4c8a1e0d8c2a7b6e5d4c3b2a19"
	definition := repository + "/.github/workflows/" + file + "@" + ref
	return i.token(map[string]any{
		"sub": "repo:" + repository + ":ref:" + ref, "repository": repository, "ref": ref, "sha": commit, "event_name": "push",
		"workflow": file, "workflow_ref": definition, "workflow_sha": commit, "job_workflow_ref": definition, "job_workflow_sha": commit,
		"runner_environment": "github-hosted", "repository_id": "414510697", "repository_owner": "example",
		"repository_owner_id": "87436699", "run_id": "23400596033", "run_attempt": "1", "repository_visibility": "private",
	})
}

// token signs claims for Fulcio (RFC 7519, with ES256 of RFC 7518).
func (i *issuer) token(claims map[string]any) string {
	i.t.Helper()
	now := time.Now()
	claims = maps.Clone(claims)
	claims["iss"], claims["aud"] = i.url, "sigstore"
	claims["iat"], claims["exp"] = now.Unix(), now.Add(time.Hour).Unix()
	payload, err := json.Marshal(claims)
	if err != nil {
		i.t.Fatal(err)
	}
	signed := base64url([]byte(`{"alg":"ES256","typ":"JWT","kid":"1"}`)) + "." + base64url(payload)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, digest[:])
	if err != nil {
		i.t.Fatal(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64url(signature)
}
