package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan makes the command that writes a manual page for each command, from the same texts as the
// help. The directory is made if it is not there, and pages in it are overwritten.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages into a directory",
		Example: `  schedlab man /usr/local/share/man/man1`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			month, err := manualMonth()
			if err == nil {
				err = os.MkdirAll(args[0], 0o755)
			}
			if err == nil {
				err = writeManual(cmd.Root(), args[0], month)
			}
			if err != nil {
				return fmt.Errorf("writing manual pages: %w", err)
			}
			return nil
		},
	}
}

// manualMonth returns the date on the pages: the month of SOURCE_DATE_EPOCH if that is set, else this month. Packagers
// set it to build the same files again (reproducible-builds.org/specs/source-date-epoch).
func manualMonth() (string, error) {
	at := time.Now()
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return "", fmt.Errorf("SOURCE_DATE_EPOCH=%q is not a number of seconds", epoch)
		}
		at = time.Unix(seconds, 0)
	}
	return at.Format("Jan 2006"), nil
}

// writeManual writes the pages of cmd and of the commands below it into dir.
func writeManual(cmd *cobra.Command, dir, month string) error {
	for _, c := range listedBelow(cmd) {
		if err := writeManual(c, dir, month); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, manualName(cmd)+".1"), []byte(manualPage(cmd, month)), 0o644)
}

// listedBelow returns the commands below cmd that help lists, but for help itself, by name.
func listedBelow(cmd *cobra.Command) []*cobra.Command {
	below := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() })
	slices.SortFunc(below, func(a, b *cobra.Command) int { return strings.Compare(a.Name(), b.Name()) })
	return below
}

// manualName returns the name of a command's page, as schedlab-cluster-run.
func manualName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manualPage returns a command's page in section 1, the programs that users call, in the language of
// man(7): a line that starts with a dot is a request, \fB to \fP is bold.
func manualPage(cmd *cobra.Command, month string) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	fmt.Fprintf(&b, ".nh\n.TH \"SCHEDLAB\" \"1\" \"%s\" \"schedlab %s\" \"\"\n", month, cmd.Root().Version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manualName(cmd)), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fP\n", roff(cmd.UseLine()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", paragraphs(cmd.Long, cmd.Short))
	b.WriteString(manualFlags("OPTIONS", cmd.NonInheritedFlags()))
	b.WriteString(manualFlags("OPTIONS INHERITED FROM PARENT COMMANDS", cmd.InheritedFlags()))
	if cmd.HasExample() {
		fmt.Fprintf(&b, ".SH EXAMPLE\n%s", asTyped(cmd.Example))
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, manualName(cmd.Parent()))
	}
	for _, c := range listedBelow(cmd) {
		also = append(also, manualName(c))
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n\\fB%s(1)\\fP\n", roff(strings.Join(also, "(1), ")))
	return b.String()
}

// manualFlags returns the section of a page that lists flags; "" where there are none.
func manualFlags(title string, flags *pflag.FlagSet) string {
	if !flags.HasAvailableFlags() {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(&b, "\\fB%s\\fP, ", roff("-"+f.Shorthand))
		}
		value := "=" + f.DefValue
		if f.Value.Type() == "string" {
			value = fmt.Sprintf("=%q", f.DefValue)
		}
		if f.NoOptDefVal != "" {
			value = "[" + value + "]"
		}
		fmt.Fprintf(&b, "\\fB%s\\fP%s\n%s\n", roff("--"+f.Name), roff(value), roff(f.Usage))
	})
	return b.String()
}

// paragraphs returns a description, or short where it is empty: text that man fills, and indented lines as
// they are.
func paragraphs(long, short string) string {
	if long == "" {
		long = short
	}
	var b strings.Builder
	for i, p := range strings.Split(strings.TrimSpace(long), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		p = strings.Trim(p, "\n")
		heading, isHeading := strings.CutPrefix(p, "#### ") // in cobra's help on completion
		switch {
		case isHeading:
			fmt.Fprintf(&b, "\\fB%s\\fP\n", roff(heading))
		case strings.HasPrefix(p, " "), strings.HasPrefix(p, "\t"):
			b.WriteString(asTyped(p))
		default:
			b.WriteString(roff(p) + "\n")
		}
	}
	return b.String()
}

// asTyped returns lines that man leaves as they are.
func asTyped(text string) string { return ".EX\n" + roff(strings.Trim(text, "\n")) + "\n.EE\n" }

// roff returns text so that man shows it as it is: a backslash as one, a hyphen as the one that
// commands have, and no line as a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
