package run_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/agent"
	"gitops-agent/internal/pvesim"
	"gitops-agent/internal/sigtest"

	"gopkg.in/yaml.v3"
)

// image is what the Dockerfile says about the image.
type image struct {
	user, volume, port string
	entrypoint         []string
}

func readImage(t *testing.T) image {
	t.Helper()
	text := read(t, "../../Dockerfile")
	find := func(pattern string) string {
		found := regexp.MustCompile(`(?m)^` + pattern + `$`).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("got no line %s in the Dockerfile", pattern)
		}
		return found[1]
	}
	i := image{user: find(`USER (.*)`), volume: find(`VOLUME (.*)`), port: find(`EXPOSE (.*)`)}
	if err := json.Unmarshal([]byte(find(`ENTRYPOINT (.*)`)), &i.entrypoint); err != nil {
		t.Fatal(err)
	}
	return i
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkConfig checks a config as `config check` does, with the files that it names, and returns it as it is written. mounted are the paths that exist where the agent
// runs; every file of the config must be one of them or below one.
func checkConfig(t *testing.T, text string, mounted ...string) agent.Config {
	t.Helper()
	written, err := agent.ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	sig, err := sigtest.New(sigtest.Options{Seed: "examples"})
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := sig.TrustedRoot()
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := pvesim.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"trusted_root.json": string(trusted), "pve-root-ca.pem": string(certificate.PEM), "token": "gitops@pve!agent=00000000-0000-4000-8000-000000000000\n",
		"status-token": "a-random-text-of-the-tests\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := regexp.MustCompile(`(?:/etc|/run)/[\w./-]+`)
	text = files.ReplaceAllStringFunc(text, func(file string) string {
		if !slices.ContainsFunc(mounted, func(m string) bool { return file == m || strings.HasPrefix(file, m+"/") }) {
			t.Errorf("got file %s in the config, want one below %v", file, mounted)
		}
		return filepath.Join(folder, filepath.Base(file))
	})
	text = strings.Replace(text, strings.Repeat("0", 40), strings.Repeat("1", 40), 1) // the placeholder is refused, as it has to be
	checked, err := agent.ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := checked.Check(); err != nil {
		t.Error(err)
	}
	return written
}

// checkStop fails if the agent may not take the time to end that its config allows, and 15 seconds more.
func checkStop(t *testing.T, config agent.Config, allowed time.Duration) {
	t.Helper()
	if want := time.Duration(config.ShutdownTimeout) + 15*time.Second; allowed < want {
		t.Errorf("got %s until the agent is killed, want %s", allowed, want)
	}
}

func checkListen(t *testing.T, config agent.Config, port string) {
	t.Helper()
	if config.Listen == nil || *config.Listen != "0.0.0.0:"+port {
		t.Errorf("got listen %v, want every address with port %s", config.Listen, port)
	}
}

// decode reads a YAML document with the names of JSON, which are not case-sensitive.
func decode(t *testing.T, document string, into any) {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(document), &value); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func TestCompose(t *testing.T) {
	var project struct {
		Services map[string]struct {
			User            string
			ReadOnly        bool   `json:"read_only"`
			StopGracePeriod string `json:"stop_grace_period"`
			Ports, Volumes  []string
			Healthcheck     struct{ Test []string }
		}
		Volumes map[string]any
	}
	decode(t, read(t, "compose/compose.yaml"), &project)
	image, service := readImage(t), project.Services["gitops-agent"]
	var mounted []string
	for _, v := range service.Volumes {
		source, rest, _ := strings.Cut(v, ":")
		target, mode, _ := strings.Cut(rest, ":")
		if _, named := project.Volumes[source]; named {
			if target != image.volume || mode != "" {
				t.Errorf("got volume %s, want it writable at %s", v, image.volume)
			}
			continue
		}
		if mode != "ro" {
			t.Errorf("got %s, want it read-only", v)
		}
		mounted = append(mounted, target)
	}
	config := checkConfig(t, read(t, "compose/config.yaml"), mounted...)
	checkListen(t, config, image.port)
	grace, err := time.ParseDuration(service.StopGracePeriod)
	if err != nil {
		t.Fatal(err)
	}
	checkStop(t, config, grace)
	if !slices.Contains(mounted, "/etc/gitops-agent/config.yaml") {
		t.Errorf("got files %v, want the config at its default path", mounted)
	}
	if config.StateDir != image.volume || service.User != image.user || !service.ReadOnly {
		t.Errorf("got state directory %s, user %s and read-only %t, want those of the image: %+v", config.StateDir, service.User, service.ReadOnly, image)
	}
	if want := []string{"127.0.0.1:" + image.port + ":" + image.port}; !config.Status.Unauthenticated || !slices.Equal(service.Ports, want) {
		t.Errorf("got ports %v, want %v for a page without credentials", service.Ports, want)
	}
	if want := slices.Concat([]string{"CMD"}, image.entrypoint, []string{"status"}); !slices.Equal(service.Healthcheck.Test, want) {
		t.Errorf("got health check %v, want %v", service.Healthcheck.Test, want)
	}
}

// object is what the tests read of an object of Kubernetes.
type object struct {
	Kind string
	Data map[string]string
	Spec struct {
		Replicas             int
		Template             struct{ Spec pod }
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } }
		Ports                []struct{ Port int }
	}
}

type pod struct {
	TerminationGracePeriodSeconds int
	SecurityContext               struct{ RunAsUser, RunAsGroup, FSGroup int }
	Containers                    []struct {
		Command, Args                               []string
		Ports                                       []struct{ ContainerPort int }
		StartupProbe, LivenessProbe, ReadinessProbe struct{ HTTPGet struct{ Path, Port string } }
		VolumeMounts                                []struct {
			Name, MountPath string
			ReadOnly        bool
		}
	}
	Volumes []struct{ Name string }
}

func TestKubernetes(t *testing.T) {
	objects := map[string]object{}
	for document := range strings.SplitSeq(read(t, "kubernetes/gitops-agent.yaml"), "\n---\n") {
		var o object
		decode(t, document, &o)
		objects[o.Kind] = o
	}
	if got, want := slices.Sorted(maps.Keys(objects)), []string{"ConfigMap", "Namespace", "NetworkPolicy", "Service", "StatefulSet"}; !slices.Equal(got, want) {
		t.Fatalf("got kinds %v, want %v", got, want)
	}
	image, set := readImage(t), objects["StatefulSet"].Spec
	pod := set.Template.Spec
	container := pod.Containers[0]

	var mounted []string
	configFile := ""
	for _, m := range container.VolumeMounts {
		if m.Name == set.VolumeClaimTemplates[0].Metadata.Name {
			if m.MountPath != image.volume || m.ReadOnly {
				t.Errorf("got %+v, want the state writable at %s", m, image.volume)
			}
			continue
		}
		if !m.ReadOnly {
			t.Errorf("got %+v, want it read-only", m)
		}
		if m.Name == "config" {
			configFile = m.MountPath + "/config.yaml"
		}
		mounted = append(mounted, m.MountPath)
	}
	if want := []string{"run", "--config", configFile}; container.Command != nil || !slices.Equal(container.Args, want) {
		t.Errorf("got command %v with %v, want the one of the image with %v", container.Command, container.Args, want)
	}
	config := checkConfig(t, objects["ConfigMap"].Data["config.yaml"], mounted...)
	checkListen(t, config, image.port)
	checkStop(t, config, time.Duration(pod.TerminationGracePeriodSeconds)*time.Second)
	if config.StateDir != image.volume || config.Status.Unauthenticated {
		t.Errorf("got state directory %s and unauthenticated %t, want %s and a token", config.StateDir, config.Status.Unauthenticated, image.volume)
	}
	if s := pod.SecurityContext; image.user != fmt.Sprintf("%d:%d", s.RunAsUser, s.RunAsGroup) || s.FSGroup != s.RunAsGroup || set.Replicas != 1 {
		t.Errorf("got %+v and %d replicas, want the user of the image, %s, and one", s, set.Replicas, image.user)
	}
	if got := fmt.Sprint(container.Ports[0].ContainerPort); got != image.port {
		t.Errorf("got port %s, want %s", got, image.port)
	}
	for path, probe := range map[string]struct{ Path, Port string }{
		"/healthz": container.LivenessProbe.HTTPGet, "/readyz": container.ReadinessProbe.HTTPGet,
	} {
		if probe.Path != path || probe.Port != "http" {
			t.Errorf("got probe %+v, want %s", probe, path)
		}
	}
}

// TestNixOS checks the config. The unit is that of the Debian package.
func TestNixOS(t *testing.T) {
	module := read(t, "nixos/gitops-agent.nix")
	mounted := []string{"/run/credentials/gitops-agent.service"}
	for _, etc := range regexp.MustCompile(`environment\.etc\."(.*)"\.source`).FindAllStringSubmatch(module, -1) {
		mounted = append(mounted, "/etc/"+etc[1])
	}
	checkConfig(t, read(t, "nixos/config.yaml"), mounted...)
	if len(mounted) != 4 || !strings.Contains(module, `"token:`) {
		t.Errorf("got files %v, want the config, two other files and the credential token", mounted)
	}
	unit := read(t, "../../packaging/systemd/gitops-agent.service")
	for _, replaced := range regexp.MustCompile(`--replace-fail (\S+)`).FindAllStringSubmatch(module, -1) {
		if !strings.Contains(unit, replaced[1]) {
			t.Errorf("got no %s in the unit, want what the module replaces", replaced[1])
		}
	}
	for _, path := range regexp.MustCompile(`(?m)^Exec\w+=(/\S+)`).FindAllStringSubmatch(unit, -1) {
		if path[1] != "/bin/sh" && !strings.Contains(module, "--replace-fail "+path[1]) {
			t.Errorf("got %s in the unit, want that the module replaces it, since NixOS has only /bin/sh", path[1])
		}
	}
}
