package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// visibleFlags are the flags that a command's help shows, --help included.
func visibleFlags(cmd *cobra.Command) (all []*pflag.Flag) {
	cmd.InitDefaultHelpFlag()
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all = append(all, f)
		}
	})
	return all
}

// A command with more than nine flags has them in sections, and then each flag is in one.
func TestEveryFlagIsInASection(t *testing.T) {
	t.Parallel()
	for _, cmd := range commandsBelow(newRoot(io.Discard, io.Discard)) {
		var without []string
		flags := visibleFlags(cmd)
		for _, f := range flags {
			if section, _ := inHelp(f); section == "" {
				without = append(without, "--"+f.Name)
			}
		}
		few := len(without) == len(flags) && len(flags) <= 9
		if len(without) > 0 && !few {
			t.Errorf("%s: %s: in no section of the help; name them in the command's inSections", cmd.CommandPath(), strings.Join(without, ", "))
		}
	}
}

// Help shows a flag on one line, and says in plain words what it takes.
func TestFlagsInWords(t *testing.T) {
	t.Parallel()
	for _, cmd := range commandsBelow(newRoot(io.Discard, io.Discard)) {
		flags, shown := len(visibleFlags(cmd)), 0
		for line := range strings.Lines(flagsHelp(cmd, 200)) {
			fields := strings.Fields(line)
			if len(fields) == 0 || !strings.HasPrefix(fields[0], "-") {
				continue
			}
			shown++
			if i := slices.IndexFunc(fields, func(s string) bool { return strings.HasPrefix(s, "--") }); slices.Contains([]string{"string", "strings", "stringArray", "int", "uint", "float", "duration", "stringToString"}, fields[i+1]) {
				t.Errorf("%s: a word of programmers: %s", cmd.CommandPath(), line)
			}
		}
		if shown < flags {
			t.Errorf("%s: %d lines for %d flags", cmd.CommandPath(), shown, flags)
		}
	}
}

// Help of 80 columns fits there, whatever the command, and no word of it is lost at another width.
func TestHelpIsWrapped(t *testing.T) {
	t.Parallel()
	words := func(text string) string {
		return strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", "")), " ")
	}
	root := newRoot(io.Discard, io.Discard)
	for _, cmd := range append(commandsBelow(root), root) {
		wide := words(helpText(cmd, 2000))
		for _, width := range []int{narrowest, usualWidth, widest} {
			text := helpText(cmd, width)
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && width == usualWidth {
					t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
				}
			}
			if got := words(text); got != wide {
				t.Errorf("%s: at %d columns it differs by more than white space:\n%s\n%s", cmd.CommandPath(), width, got, wide)
			}
		}
	}
}

// A description's paragraphs and lists are wrapped; what is indented otherwise, or a heading, stays.
func TestFilled(t *testing.T) {
	t.Parallel()
	got := filled("One two three four five six\nseven eight nine ten:\n  a-name    what it means, in many words that\n            do not fit\n  another   short\nNext to the list.\n\n\tas typed, as long as it is and no column less\n#### Heading: as typed, as long as it is\nEnd.", 40)
	want := `One two three four five six seven eight
nine ten:
  a-name
          what it means, in many words
          that do not fit
  another
          short
Next to the list.

	as typed, as long as it is and no column less
#### Heading: as typed, as long as it is
End.
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A long command goes on below a backslash, before a flag; a shell reads the same words.
func TestFolded(t *testing.T) {
	t.Parallel()
	got := folded("  schedlab compare --one 1 --two 'a b' --three 3\n  schedlab ui --some-flag --another-flag    # said of it, at length", 30)
	want := "  schedlab compare --one 1 \\\n      --two 'a b' --three 3\n  schedlab ui --some-flag --another-flag    # said of it, at length\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Help lists nineteen commands in four groups, the common ones first.
func TestHelpHasFourGroups(t *testing.T) {
	t.Parallel()
	root := newRoot(io.Discard, io.Discard)
	var got []string
	for _, g := range root.Groups() {
		names := []string{g.Title + ":"}
		for _, cmd := range root.Commands() {
			if cmd.GroupID == g.ID {
				names = append(names, cmd.Name())
			}
		}
		got = append(got, strings.Join(names, " "))
	}
	want := []string{
		"Answer a question: compare gate capacity size explain doctor audit",
		"Serve and load: serve attack cluster",
		"Look: runs ui modes scenarios recipe",
		"About: version man completion help",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "" && !cmd.Hidden {
			t.Errorf("%s is in no group", cmd.Name())
		}
	}
}

// These commands have few flags. A new one there takes the place of another.
func TestCommandsHaveFewFlags(t *testing.T) {
	t.Parallel()
	root := newRoot(io.Discard, io.Discard)
	for name, most := range map[string]int{"compare": 34, "gate": 28, "capacity": 21, "size": 12} {
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(visibleFlags(cmd)); n > most {
			t.Errorf("%s has %d flags, --help included, and %d at most are agreed", name, n, most)
		}
	}
}

// The table of exit codes stands in the program's help and in the glossary, and nowhere else.
func TestExitCodesStandOnce(t *testing.T) {
	t.Parallel()
	root := newRoot(io.Discard, io.Discard)
	glossary, err := os.ReadFile("../../docs/reference/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	help := rootNotes(200)
	for _, c := range exitCodes {
		if line := fmt.Sprintf("%5d  %s\n", c.code, c.means); !strings.Contains(help, line) {
			t.Errorf("help does not have %q", line)
		}
		if row := fmt.Sprintf("| %d | %s |\n", c.code, c.means); !strings.Contains(string(glossary), row) {
			t.Errorf("docs/reference/glossary.md does not have %q", row)
		}
	}
	for _, cmd := range commandsBelow(root) {
		if strings.Contains(cmd.Long, "Exit codes") {
			t.Errorf("%s has exit codes of its own; the glossary has a row for each command", cmd.CommandPath())
		}
	}
}
