// Package forgetest imitates the comments API of GitHub, GitLab and Gitea for tests: accounts, pages, refusals, and faults that a test asks for.
package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"

	"gitops-agent/internal/forge"
)

// The token of the forge, and the account to which it belongs.
const (
	Token   = "S3cret-of-the-forge"
	Account = "github-actions[bot]"
)

// Fault breaks requests of a method.
type Fault struct {
	Method string
	Status int
	Header map[string]string
	After  bool // the request takes effect, and its answer is lost
	Times  int  // 0 is once
}

// Forge is a forge with one pull request, number 12 of lab/homelab.
type Forge struct {
	Kind   forge.Kind
	server *httptest.Server

	mutex   sync.Mutex
	notes   []note
	last    int64
	faults  []Fault
	meet    *sync.WaitGroup // of the first lists
	waiting int
}

type note struct {
	ID     int64
	Author string
	Body   string
}

// New starts a forge that ends with the test.
func New(t testing.TB, kind forge.Kind) *Forge {
	t.Helper()
	f := Start(kind)
	t.Cleanup(f.Close)
	return f
}

// Start starts a forge. The caller calls Close in the end.
func Start(kind forge.Kind) *Forge {
	f := &Forge{Kind: kind}
	f.server = httptest.NewServer(f)
	return f
}

// Close ends the forge.
func (f *Forge) Close() { f.server.Close() }

// API returns the address of the API.
func (f *Forge) API() string {
	return f.server.URL + map[forge.Kind]string{forge.GitHub: "/api/v3", forge.GitLab: "/api/v4", forge.Gitea: "/api/v1"}[f.Kind]
}

// Add adds a comment of an account.
func (f *Forge) Add(author, body string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.add(author, body)
}

func (f *Forge) add(author, body string) note {
	f.last++
	n := note{f.last, author, body}
	f.notes = append(f.notes, n)
	return n
}

// Of returns the comments of an account, the oldest first.
func (f *Forge) Of(author string) []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var list []string
	for _, n := range f.notes {
		if n.Author == author {
			list = append(list, n.Body)
		}
	}
	return list
}

// Break adds a fault.
func (f *Forge) Break(fault Fault) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	fault.Times = max(fault.Times, 1)
	f.faults = append(f.faults, fault)
}

// Meet makes the first lists wait for each other.
func (f *Forge) Meet(lists int) {
	f.meet, f.waiting = new(sync.WaitGroup), lists
	f.meet.Add(lists)
}

// paths are the resources of each forge: the list, and one comment.
var paths = map[forge.Kind]*regexp.Regexp{
	forge.GitHub: regexp.MustCompile(`^/api/v3/repos/lab/homelab/issues/(?:12/comments|comments/(\d+))$`),
	forge.GitLab: regexp.MustCompile(`^/api/v4/projects/(?:lab%2Fhomelab|42)/merge_requests/12/notes(?:/(\d+))?$`),
	forge.Gitea:  regexp.MustCompile(`^/api/v1/repos/lab/homelab/issues/(?:12/comments|comments/(\d+))$`),
}

// ServeHTTP answers as the forge does.
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given := map[forge.Kind]string{forge.GitHub: r.Header.Get("Authorization"), forge.GitLab: r.Header.Get("Private-Token"), forge.Gitea: r.Header.Get("Authorization")}[f.Kind]
	if want := map[forge.Kind]string{forge.GitHub: "Bearer ", forge.Gitea: "token "}[f.Kind] + Token; given != want {
		http.Error(w, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
		return
	}
	if r.Method == http.MethodGet && regexp.MustCompile(`^/api/v\d/user$`).MatchString(r.URL.Path) {
		if f.Kind == forge.GitHub { // the token of a job is no user
			http.Error(w, `{"message":"Resource not accessible by integration"}`, http.StatusForbidden)
			return
		}
		answer(w, http.StatusOK, f.person(Account))
		return
	}
	at := paths[f.Kind].FindStringSubmatch(r.URL.EscapedPath())
	if at == nil {
		http.Error(w, `{"message":"Not Found"}`, http.StatusNotFound)
		return
	}
	fault, broken := f.fault(r.Method)
	if broken && !fault.After {
		fail(w, fault)
		return
	}
	status, body, header := f.serve(r, at[1])
	if broken {
		fail(w, fault)
		return
	}
	for name, value := range header {
		w.Header().Set(name, value)
	}
	answer(w, status, body)
}

func (f *Forge) fault(method string) (Fault, bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	i := slices.IndexFunc(f.faults, func(fault Fault) bool { return fault.Method == method && fault.Times > 0 })
	if i < 0 {
		return Fault{}, false
	}
	f.faults[i].Times--
	return f.faults[i], true
}

func fail(w http.ResponseWriter, fault Fault) {
	for name, value := range fault.Header {
		w.Header().Set(name, value)
	}
	http.Error(w, `{"message":"no"}`, fault.Status)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if body != nil {
		_ = json.NewEncoder(w).Encode(body)
	}
}

// serve carries out a request. Of a path with an id only the comment with this id is concerned.
func (f *Forge) serve(r *http.Request, id string) (status int, body any, header map[string]string) {
	if r.Method == http.MethodGet {
		defer f.wait()
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	edit := map[forge.Kind]string{forge.GitHub: http.MethodPatch, forge.GitLab: http.MethodPut, forge.Gitea: http.MethodPatch}[f.Kind]
	if id == "" {
		switch r.Method {
		case http.MethodGet:
			body, header = f.page(r)
			return http.StatusOK, body, header
		case http.MethodPost:
			return http.StatusCreated, f.view(f.add(Account, text(r))), nil
		}
		return http.StatusMethodNotAllowed, nil, nil
	}
	i := slices.IndexFunc(f.notes, func(n note) bool { return fmt.Sprint(n.ID) == id })
	switch {
	case i < 0:
		return http.StatusNotFound, map[string]string{"message": "Not Found"}, nil
	case f.notes[i].Author != Account:
		return http.StatusForbidden, map[string]string{"message": "Forbidden"}, nil
	case r.Method == edit:
		f.notes[i].Body = text(r)
		return http.StatusOK, f.view(f.notes[i]), nil
	case r.Method == http.MethodDelete:
		f.notes = slices.Delete(f.notes, i, i+1)
		return http.StatusNoContent, nil, nil
	}
	return http.StatusMethodNotAllowed, nil, nil
}

// wait lets the first lists meet.
func (f *Forge) wait() {
	f.mutex.Lock()
	first := f.waiting > 0
	f.waiting--
	f.mutex.Unlock()
	if f.meet != nil && first {
		f.meet.Done()
		f.meet.Wait()
	}
}

// page returns one page of the comments. Gitea knows no pages of them.
func (f *Forge) page(r *http.Request) (body any, header map[string]string) {
	all := make([]map[string]any, 0, len(f.notes))
	for _, n := range f.notes {
		all = append(all, f.view(n))
	}
	if f.Kind == forge.Gitea {
		return all, nil
	}
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil && n > 0 {
			return n
		}
		return otherwise
	}
	size, page := min(number("per_page", 20), 100), number("page", 1)
	from, to := min((page-1)*size, len(all)), min(page*size, len(all))
	if to < len(all) {
		header = map[string]string{"Link": fmt.Sprintf(`<%s?page=%d&per_page=%d>; rel="next"`, f.server.URL, page+1, size)}
	}
	return all[from:to], header
}

func (f *Forge) view(n note) map[string]any {
	who := "user"
	if f.Kind == forge.GitLab {
		who = "author"
	}
	return map[string]any{"id": n.ID, "body": n.Body, who: f.person(n.Author)}
}

func (f *Forge) person(name string) map[string]string {
	if f.Kind == forge.GitLab {
		return map[string]string{"username": name}
	}
	return map[string]string{"login": name}
}

func text(r *http.Request) string {
	var body struct{ Body string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	return body.Body
}
