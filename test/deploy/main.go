// Command deploy checks a file of examples/run as the programs that read it would: a Kubernetes API server, without defaults and quotas, or Docker Compose. It is a
// module of its own, so that the agent's go.mod needs none of its requirements.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: deploy kubernetes|compose FILE")
	}
	switch args[0] {
	case "kubernetes":
		return kubernetes(args[1])
	case "compose":
		return compose(args[1])
	default:
		return fmt.Errorf("got kind %s, want kubernetes or compose", args[0])
	}
}

// kubernetes decodes each object strictly, and checks its pods against the restricted pod security standard.
func kubernetes(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), networkingv1.AddToScheme(scheme)); err != nil {
		return err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	objects := 0
	for buffer := make([]byte, len(text)+1); ; objects++ {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		object, _, err := decoder.Decode(buffer[:n], nil, nil)
		if err != nil {
			return fmt.Errorf("%s, object %d: %w", file, objects+1, err)
		}
		if set, ok := object.(*appsv1.StatefulSet); ok {
			if err := restricted(set.Spec.Template); err != nil {
				return fmt.Errorf("%s, %s: %w", file, set.Name, err)
			}
		}
	}
	if objects == 0 {
		return fmt.Errorf("%s has no object", file)
	}
	return nil
}

func restricted(pod corev1.PodTemplateSpec) error {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	results := evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec)
	if all := policy.AggregateCheckResults(results); !all.Allowed {
		return fmt.Errorf("the pod is not restricted: %s", all.ForbiddenDetail())
	}
	return nil
}

// compose loads a project, which is checked against the schema of the Compose specification, and resolves its references.
func compose(file string) error {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithName("gitops-agent"), cli.WithConsistency(true))
	if err != nil {
		return err
	}
	_, err = options.LoadProject(context.Background())
	return err
}
