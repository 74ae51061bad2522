"""The options that programs of bench/ share, and what those say of a value that they do not accept."""
import pathlib


def add_program_and_parts(parser, parts, what):
    """Adds --testbed and --only. `what` is one of the parts that --only chooses: "check"."""
    parser.add_argument("--testbed", required=True, help="the program")
    parser.add_argument("--only", default=",".join(parts), help=f"{what}s, of {', '.join(parts)} [all]")


def check_parts(parser, options, parts, what):
    """Makes a list of --only."""
    options.only = options.only.split(",")
    if unknown := set(options.only) - set(parts):
        parser.error(f"--only {', '.join(sorted(unknown))} is no {what}; there are {', '.join(parts)}")


def check_least(parser, options, **least):
    for name, value in least.items():
        if getattr(options, name) < value:
            parser.error(f"--{name} {getattr(options, name)} is not accepted; give {value} or more")


def check_program(parser, options):
    """Makes --testbed an absolute path."""
    options.testbed = str(pathlib.Path(options.testbed).resolve())
    if not pathlib.Path(options.testbed).is_file():
        parser.error(f"--testbed {options.testbed} is no program")


def check_directory(parser, options):
    if not pathlib.Path(options.directory).is_dir():
        parser.error(f"--directory {options.directory} is no directory; make it first")
