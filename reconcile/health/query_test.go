package health

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestQuery asks a server of this test.
func TestQuery(t *testing.T) {
	t.Parallel()
	reply := map[string]string{
		"all":       `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]},{"metric":{},"value":[1,"0.5"]}]}}`,
		"one_is_0":  `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]},{"metric":{},"value":[1,"0"]}]}}`,
		"nan":       `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"NaN"]}]}}`,
		"empty":     `{"status":"success","data":{"resultType":"vector","result":[]}}`,
		"scalar":    `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`,
		"matrix":    `{"status":"success","data":{"resultType":"matrix","result":[]}}`,
		"text":      `hello`,
		"failed":    `{"status":"error","error":"parse error"}`,
		"too_large": strings.Repeat(" ", maxAnswer) + `{"status":"success"}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("query")
		switch {
		case r.URL.Path != "/prom/api/v1/query":
			w.WriteHeader(http.StatusNotFound)
		case name == "moved":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		default:
			_, _ = fmt.Fprint(w, reply[name])
		}
	}))
	t.Cleanup(server.Close)
	for name, want := range map[string]string{
		"all": "", "scalar": "", "one_is_0": "1 of 2 values are 0", "nan": "1 of 1 values", "empty": "is empty", "matrix": "type \"matrix\"", "text": "no answer of a Prometheus",
		"failed": "no answer of a Prometheus", "too_large": "more than 1048576 bytes", "moved": "status 302",
	} {
		for _, allowed := range []string{"127.0.0.1", "10.0.0.9"} {
			allow, err := ParseAllow([]string{allowed})
			if err != nil {
				t.Fatal(err)
			}
			p := New(Options{Allow: allow})
			p.Want(t.Context(), []Target{{Label: "Rollout/web", Query: Query{Server: server.URL + "/prom/", Text: name}}})
			p.Wait()
			got, expected := p.Result("Rollout/web"), want
			if allowed == "10.0.0.9" {
				expected = "checks.allow"
			}
			if problem := strings.ReplaceAll(got.NotReady(time.Now()), `\"`, `"`); (problem == "") != (expected == "") || !strings.Contains(problem, expected) || got.Refused != (allowed == "10.0.0.9") {
				t.Errorf("%s with %s: got %q, want %q", name, allowed, problem, expected)
			}
		}
	}
}
