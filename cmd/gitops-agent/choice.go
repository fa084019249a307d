package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// choice is a flag whose value is one of a few words.
type choice struct {
	value *string
	words []string
}

func (c choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Set sets the value. It returns an error if the value is not one of the words.
func (c choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("want %s", strings.Join(c.words, ", "))
	}
	*c.value = word
	return nil
}

// Type returns the words, for the help.
func (c choice) Type() string { return strings.Join(c.words, "|") }

// The words of -o.
const (
	outputText     = "text"
	outputJSON     = "json"
	outputMarkdown = "markdown"
	outputSARIF    = "sarif"
	outputHTML     = "html"
	outputVSA      = "vsa"
)

// outputFlag adds -o with the given words; the first is the default.
func outputFlag(cmd *cobra.Command, value *string, words ...string) {
	*value = words[0]
	cmd.Flags().VarP(choice{value, words}, "output", "o", "format of the result")
	completeWords(cmd, "output", words)
}

// completeWords lets shells complete a flag's value with fixed words.
func completeWords(cmd *cobra.Command, flag string, words []string) {
	completeWith(cmd, flag, func(context.Context) []string { return words })
}

// words returns constants of a type as text.
func words[T ~string](constants []T) []string {
	texts := make([]string, len(constants))
	for i, c := range constants {
		texts[i] = string(c)
	}
	return texts
}

// completeWith lets shells complete a flag's value. It panics if the flag does not exist or already has a completion; the first run of the
// program shows both.
func completeWith(cmd *cobra.Command, flag string, words func(ctx context.Context) []string) {
	complete := func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return words(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}
