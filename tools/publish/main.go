// Command publish gives schedlab's repository a place: a module path that others can install, an image's
// name, and CI templates and pages that name both. tools/publish-as calls it.
//
// Two commits make a release. The first has the place, and its tag is built. The second has the SHA-256 of the
// list of checksums which that build made: a program carries its commit, so no commit can have the
// checksum of its own program.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A usageError is a mistake in what was asked for: exit code 2.
type usageError string

func (e usageError) Error() string { return string(e) }

func main() {
	root, err := git(".", "rev-parse", "--show-toplevel")
	if err == nil {
		err = run(strings.TrimSpace(root), os.Args[1:], os.Stdout)
	}
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "publish-as: %v\n", err)
	if usage := usageError(""); errors.As(err, &usage) {
		os.Exit(2)
	}
	os.Exit(1)
}

// run carries out one call of publish-as in the repository at root.
func run(root string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("publish-as", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is printed by main
	var asked Place
	flags.StringVar(&asked.Version, "version", "", "the release that templates install, by default the one of "+placeFile)
	flags.StringVar(&asked.Forge, "forge", "", "github, gitlab or gitea (also Forgejo), by default as the host's name tells")
	flags.StringVar(&asked.Image, "image", "", "the container image, without a tag, by default in the host's own registry")
	flags.StringVar(&asked.Contact, "contact", "", "address or page where a vulnerability is reported, by default the host's page for that")
	release := flags.Bool("release", false, "write the SHA-256 of dist/checksums.txt into the templates")
	page, err := parse(flags, args)
	asked.Page = page
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, "Usage: tools/publish-as HOST/OWNER/schedlab [flags], or tools/publish-as --release\n\n")
		flags.SetOutput(out)
		flags.PrintDefaults()
		return nil
	case err != nil:
		return err
	case *release && asked != (Place{}), !*release && page == "":
		return usageError("want HOST/OWNER/schedlab, such as github.com/OWNER/schedlab, or --release alone; see --help")
	}
	changes, err := git(root, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return usageError("the work tree has changes; commit or stash them, since this makes a commit")
	}
	from, err := readPlace(root)
	if err != nil {
		return err
	}
	to, message := from, "publish: the checksums of "+from.Version
	if *release {
		to.Checksums, err = checksumsOf(root, from)
	} else {
		to, err = from.movedTo(asked)
		message = "publish: as " + to.Page + ", " + to.Version
	}
	if err != nil {
		return err
	}
	if to == from {
		return usageError("this repository has that place, version and checksum already")
	}
	if err := move(root, from, to); err != nil {
		return err
	}
	if _, err := git(root, "commit", "--quiet", "--all", "--message", message); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\nNow one commit further; docs/contributing/releasing.md has the next step.\n", message)
	return err
}

// parse parses flags before and after the one argument, and returns that.
func parse(flags *flag.FlagSet, args []string) (page string, err error) {
	for err = flags.Parse(args); err == nil && flags.NArg() > 0; err = flags.Parse(flags.Args()[1:]) {
		if page != "" {
			return "", usageError(fmt.Sprintf("%s and %s are two places; want one", page, flags.Arg(0)))
		}
		page = flags.Arg(0)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		err = usageError(err.Error())
	}
	return page, err
}

// move changes every file that git knows from one place to another.
func move(root string, from, to Place) error {
	files, err := git(root, "ls-files", "-z")
	if err != nil {
		return err
	}
	for _, file := range strings.Split(strings.TrimSuffix(files, "\x00"), "\x00") {
		if file == placeFile {
			continue
		}
		if err := rewrite(filepath.Join(root, file), from, to); err != nil {
			return err
		}
	}
	return to.write(root)
}

// checksumsOf returns the SHA-256 of dist/checksums.txt, once that is known to be of the place's release.
func checksumsOf(root string, p Place) (string, error) {
	list, err := os.ReadFile(filepath.Join(root, "dist", "checksums.txt"))
	if err != nil {
		return "", usageError(fmt.Sprintf("%v; build the release first: git checkout %s && make snapshot", err, p.Version))
	}
	if archive := "schedlab_" + strings.TrimPrefix(p.Version, "v") + "_linux_amd64.tar.gz"; !strings.Contains(string(list), "  "+archive+"\n") {
		return "", usageError(fmt.Sprintf("dist/checksums.txt has no %s, and %s names %s; build that: git checkout %s && make snapshot",
			archive, placeFile, p.Version, p.Version))
	}
	return fmt.Sprintf("%x", sha256.Sum256(list)), nil
}

// git runs git in dir and returns what it prints.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	var failure bytes.Buffer
	cmd.Stderr = &failure
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", args[0], err, failure.Bytes())
	}
	return string(text), nil
}
