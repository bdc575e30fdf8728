package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/measuring/report/document"
)

// Commands and flags stand in help in the order in which they are declared, the common ones first, and
// not by the alphabet. cobra knows this as a setting of the whole program.
func init() { cobra.EnableCommandSorting = false }

// A helpSection is a heading in a command's help with its flags, the common ones first. A command with
// many flags declares its sections below its flags.
type helpSection struct{ title, flags string }

// Titles of sections that several commands have.
const (
	whatToCompare = "What to compare"
	theLoad       = "Load"
	howSure       = "How sure"
	theMachine    = "Machine"
	theOutput     = "Output"
)

// sectionKey is the annotation of a flag that names its section and its place in the command's help.
const sectionKey = "section"

// inSections puts the flags of a command into sections of its help. Every flag that is named must exist,
// and TestEveryFlagIsInASection finds one that is not named.
func inSections(cmd *cobra.Command, sections ...helpSection) {
	cmd.InitDefaultHelpFlag()
	place := 0
	for _, s := range sections {
		for name := range strings.FieldsSeq(s.flags) {
			must(cmd.Flags().SetAnnotation(name, sectionKey, []string{s.title, fmt.Sprintf("%03d", place)}))
			place++
		}
	}
}

// inHelp returns a flag's section and its place in the help; "" for none.
func inHelp(f *pflag.Flag) (section, place string) {
	if at := f.Annotations[sectionKey]; at != nil {
		section, place = at[0], at[1]
	}
	return section, place
}

// takes maps pflag's names of types, which only programmers know, to plain words for help.
var takes = map[string]string{
	"string": "text", "stringArray": "text", "stringSlice": "list", "stringToString": "list",
	"int": "number", "uint64": "number", "float64": "number", "duration": "time",
}

// flagsHelp returns the flags of a command for its help, wrapped to width: by sections, or in one list where it has none.
func flagsHelp(cmd *cobra.Command, width int) string {
	var shown []*pflag.Flag
	cmd.InheritedFlags() // adds them to Flags
	fl := cmd.Flags()
	defer func(sorted bool) { fl.SortFlags = sorted }(fl.SortFlags)
	fl.SortFlags = false // as they were declared, the common ones first
	fl.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			shown = append(shown, f)
		}
	})
	slices.SortStableFunc(shown, func(a, b *pflag.Flag) int {
		_, first := inHelp(a)
		_, second := inHelp(b)
		return cmp.Compare(first, second)
	})
	// One column for all sections.
	column := 0
	for _, f := range shown {
		column = max(column, len(typedFlag(f)))
	}
	var b strings.Builder
	last := "none"
	for _, f := range shown {
		if title, _ := inHelp(f); title != last {
			last = title
			fmt.Fprintf(&b, "\n%s:\n", cmp.Or(title, "Flags"))
		}
		b.WriteString(entry(typedFlag(f), column, flagMeaning(f), width))
	}
	return b.String()
}

// typedFlag returns a flag as users type it, with the kind of its value: "-r, --rate rate".
func typedFlag(f *pflag.Flag) string {
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	if kind := f.Value.Type(); kind != "bool" {
		name += " " + cmp.Or(takes[kind], kind)
	}
	return name
}

// noDefaults are the texts of default values that help leaves out: they mean that there is none.
var noDefaults = []string{"", "0", "0s", "[]", "false"}

// flagMeaning returns what a flag does, with its default.
func flagMeaning(f *pflag.Flag) string {
	if slices.Contains(noDefaults, f.DefValue) {
		return f.Usage
	}
	return fmt.Sprintf("%s (default %s)", f.Usage, f.DefValue)
}

// Help is wrapped to what COLUMNS says, or to the terminal, between these limits; elsewhere to usualWidth.
const narrowest, widest, usualWidth = 40, 120, 80

// helpWidth returns the columns of help that is written to w.
func helpWidth(w io.Writer) int {
	_, columns, _ := terminalSize(w)
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		columns = n
	}
	return min(max(cmp.Or(columns, usualWidth), narrowest), widest)
}

// indent is the number of blanks before the names in a list, and between a name and its meaning.
const indent = 2

// entry returns an indented name, padded to column columns, with its meaning wrapped in a column to the right. If that column would
// be too narrow, the meaning begins on the next line.
func entry(name string, column int, meaning string, width int) string {
	const narrow = 30
	left := indent + column + indent
	first := fmt.Sprintf("%*s%-*s", indent, "", column+indent, name)
	if width-left < narrow {
		left = 5 * indent
		first = fmt.Sprintf("%*s%s\n%*s", indent, "", name, left, "")
	}
	return first + strings.Join(document.Wrap(meaning, width-left, 0), "\n"+strings.Repeat(" ", left)) + "\n"
}

// item finds a line of a list in a command's description: a name, and at least two blanks before its meaning.
var item = regexp.MustCompile(`^  (\S.*?) {2,}(\S.*)$`)

// filled returns a text with its paragraphs and lists wrapped to width. An item's meaning may go on in lines that are
// indented further. Other lines that begin with a blank or a # stay as they are.
func filled(text string, width int) string {
	var b strings.Builder
	// The paragraph or item that the lines so far have begun; name is "" for a paragraph.
	var name, begun string
	var column int
	flush := func() {
		switch {
		case name != "":
			b.WriteString(entry(name, column, begun, width))
		case begun != "":
			fmt.Fprintln(&b, strings.Join(document.Wrap(begun, width, 0), "\n"))
		}
		name, begun = "", ""
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		found := item.FindStringSubmatchIndex(line)
		switch {
		case name != "" && strings.HasPrefix(line, "      "), name == "" && line != "" && !strings.ContainsAny(line[:1], " \t#"):
			begun = strings.TrimSpace(begun + " " + strings.TrimSpace(line))
		case found != nil:
			flush()
			name, begun, column = line[found[2]:found[3]], line[found[4]:], found[4]-2*indent
		default:
			flush()
			if line == "" || strings.ContainsAny(line[:1], " \t#") {
				fmt.Fprintln(&b, line)
			} else {
				begun = line
			}
		}
	}
	flush()
	return b.String()
}

// folded returns command lines that fit into width, as a shell reads them: a longer one goes on below a backslash, with a
// flag. One with a comment stays as it is.
func folded(lines string, width int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(lines, "\n") {
		parts := []string{line}
		if !strings.Contains(line, " # ") {
			parts = strings.Split(line, " --")
		}
		at := 0
		for i, part := range parts {
			if i > 0 {
				part = " --" + part
			}
			const more = " \\" // at the end of a line that goes on
			if n := utf8.RuneCountInString(part); i > 0 && at+n+len(more) > width {
				b.WriteString(more + "\n     ")
				at = 5
			}
			b.WriteString(part)
			at += utf8.RuneCountInString(part)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// commandsHelp lists the commands below cmd, wrapped to width: by groups, or in one list where it has none.
func commandsHelp(cmd *cobra.Command, width int) string {
	var b strings.Builder
	for _, g := range append(cmd.Groups(), &cobra.Group{Title: "Commands"}) {
		listed := false
		for _, c := range cmd.Commands() {
			if c.GroupID != g.ID || !c.IsAvailableCommand() && c.Name() != "help" {
				continue
			}
			if !listed {
				fmt.Fprintf(&b, "\n%s:\n", g.Title)
				listed = true
			}
			b.WriteString(entry(c.Name(), c.NamePadding(), c.Short, width))
		}
	}
	return b.String()
}

// onlyHelps is the annotation of a command that only prints its help, because it needs one of the commands below it.
const onlyHelps = "only helps"

// helpText is the help of a command, wrapped to width: its description and its usage.
func helpText(cmd *cobra.Command, width int) string {
	return filled(cmp.Or(cmd.Long, cmd.Short), width) + "\n" + usageText(cmd, width)
}

// usageText is what help prints below a command's description.
func usageText(cmd *cobra.Command, width int) string {
	cmd.InitDefaultHelpFlag()
	cmd.InheritedFlags() // adds them to the flags that UseLine looks at
	var b strings.Builder
	fmt.Fprintln(&b, "Usage:")
	if cmd.Runnable() && cmd.HasParent() && cmd.Annotations[onlyHelps] == "" {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s", folded(cmd.Example, width))
	}
	b.WriteString(commandsHelp(cmd, width))
	b.WriteString(flagsHelp(cmd, width))
	if !cmd.HasParent() {
		fmt.Fprintf(&b, "\n%s", rootNotes(width))
	}
	last := fmt.Sprintf("Exit codes, and flags from the environment: '%s --help'.", cmd.Root().Name())
	if cmd.HasAvailableSubCommands() {
		last = fmt.Sprintf("'%s COMMAND --help' says more about a command.", cmd.CommandPath())
	}
	fmt.Fprintf(&b, "\n%s", filled(last, width))
	return b.String()
}

// rootNotes is what all commands have in common, wrapped to width: how flags are set, and the exit codes.
func rootNotes(width int) string {
	var b strings.Builder
	b.WriteString(filled(`A flag can also be set in the environment: --queue-depth is SCHEDLAB_QUEUE_DEPTH. Commands with
--config take flags from a YAML file as well, with lines like 'queue-depth: 64'. The command
line wins over the environment, and that over the file.`, width))
	b.WriteString("\nExit codes:\n")
	for _, c := range exitCodes {
		b.WriteString(entry(fmt.Sprintf("%3d", c.code), 3, c.means, width))
	}
	return b.String()
}
