package forge

import (
	"net/http"
	"net/url"
	"strings"
)

// Kind is the API of a forge.
type Kind string

// The kinds of forges. Forgejo has the API of Gitea.
const (
	GitHub Kind = "github"
	GitLab Kind = "gitlab"
	Gitea  Kind = "gitea"
)

// Kinds lists every kind.
func Kinds() []Kind { return []Kind{GitHub, GitLab, Gitea} }

// Path returns where the API has a repository, given as owner/name, or at GitLab as the path of the project.
func (k Kind) Path(repository string) string {
	if k == GitLab {
		return "/projects/" + url.PathEscape(repository)
	}
	elements := strings.Split(repository, "/")
	for i, e := range elements {
		elements[i] = url.PathEscape(e)
	}
	return "/repos/" + strings.Join(elements, "/")
}

// Authorize sets the headers of a request to the API, with the token in the form that the forge expects.
func (k Kind) Authorize(r *http.Request, token string) {
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "gitops-agent")
	switch k {
	case GitHub:
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Accept", "application/vnd.github+json")
		r.Header.Set("X-Github-Api-Version", "2022-11-28")
	case GitLab:
		r.Header.Set("Private-Token", token)
	case Gitea:
		r.Header.Set("Authorization", "token "+token)
	}
}
