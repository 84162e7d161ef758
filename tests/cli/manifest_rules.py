# SPDX-License-Identifier: Apache-2.0
"""How Kubernetes and compose read their manifests, as far as `shoal launch --emit` uses them: what a task is really started with,
how often, and how long it has to leave. Every rule names where it is published. A manifest against a rule is a Refused.

docker-compose and kubectl read the same manifests in emit_test.py, where they are installed; the rules here are always there."""
import dataclasses
import re

try:
    import yaml
except ImportError:
    yaml = None

UNLIMITED = None  # a number of restarts, or of seconds


class Refused(Exception):
    """The engine would not take it."""


@dataclasses.dataclass
class Effective:
    """What comes of a manifest for one task."""
    argv: list
    environment: dict = dataclasses.field(default_factory=dict)
    secrets: dict = dataclasses.field(default_factory=dict)  # where the task finds each: the secret's name
    restarts: object = UNLIMITED  # after failures that a restart may mend; for Kubernetes of all tasks together
    stop_seconds: object = UNLIMITED  # between SIGTERM and SIGKILL
    after: dict = dataclasses.field(default_factory=dict)  # exit status: "again" (counts), "again for nothing", "failed", "done"
    writes: list = dataclasses.field(default_factory=list)  # folders that stay
    names: list = dataclasses.field(default_factory=list)


def expect(condition, sentence):
    if not condition:
        raise Refused(sentence)


# --- YAML

if yaml:
    class StrictLoader(yaml.SafeLoader):
        """Refuses a key that is given twice, as `kubectl apply --validate=strict` and compose do; YAML 1.2, 3.2.1.1: keys are unique."""

        def construct_mapping(self, node, deep=False):
            own = [self.construct_object(key) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
            expect(len(own) == len(set(own)), f"a key is given twice: {own}")
            return super().construct_mapping(node, deep)


    # docker writes the texts "<<" and "=" without quotes, where they have no meaning of their own.
    for word in ("merge", "value"):
        StrictLoader.add_constructor("tag:yaml.org,2002:" + word, lambda loader, node: node.value)


def documents(text):
    return list(yaml.load_all(text, Loader=StrictLoader))


# --- Kubernetes: the API reference, v1.32 (kubernetes.io/docs/reference/kubernetes-api), "Job v1", "PodSpec", "Service", "Volume"

LABEL_1123 = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"  # docs/concepts/overview/working-with-objects/names: RFC 1123 label names
LABEL_1035 = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"  # the same page: RFC 1035 label names, which services have
LABEL_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?"  # docs/concepts/overview/working-with-objects/labels
VARIABLE = r"[-._a-zA-Z][-._a-zA-Z0-9]*"  # EnvVar.name
INT32_MAX = 2**31 - 1
ANNOTATION_BYTES_MAX = 256 * 1024  # of all annotations; kubectl apply keeps the object in one


def text(value):
    return isinstance(value, str)


def boolean(value):
    return isinstance(value, bool)


def whole(least, most=INT32_MAX):
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def name(pattern):
    return lambda value: text(value) and re.fullmatch(pattern, value) is not None


def one_of(*values):
    return lambda value: text(value) and value in values


def list_of(rule):
    return lambda value: isinstance(value, list) and all(check(rule, each, "[]") for each in value)


def map_of(rule):
    return lambda value: isinstance(value, dict) and all(text(key) and check(rule, each, key) for key, each in value.items())


def check(rule, value, where):
    """`rule`: a predicate, or a dict of the fields that there are, where "!" marks one that has to be."""
    if callable(rule):
        expect(rule(value), f"{where}: {value!r} is none of what may be there")
        return True
    expect(isinstance(value, dict), f"{where}: is no object")
    fields = {key.rstrip("!"): (part, key.endswith("!")) for key, part in rule.items()}
    for key, each in value.items():
        expect(key in fields, f"{where}: unknown field {key!r}")
        check(fields[key][0], each, f"{where}.{key}")
    for key, (_, needed) in fields.items():
        expect(not needed or key in value, f"{where}: {key} is missing")
    return True


PROBE = {"exec!": {"command!": list_of(text)}, "initialDelaySeconds": whole(0), "periodSeconds": whole(1), "timeoutSeconds": whole(1),
         "failureThreshold": whole(1)}
META = {"name!": name(LABEL_1123), "labels": map_of(name(LABEL_VALUE))}
VALUE_FROM = {"fieldRef": {"fieldPath!": text}, "secretKeyRef": {"name!": name(LABEL_1123), "key!": name(r"[-._a-zA-Z0-9]+")}}
CONTAINER = {"name!": name(LABEL_1123), "image!": text, "command": list_of(text), "args": list_of(text),
             "env": list_of({"name!": name(VARIABLE), "value": text, "valueFrom": VALUE_FROM}), "livenessProbe": PROBE,
             "readinessProbe": PROBE, "securityContext": {"allowPrivilegeEscalation": boolean},
             "volumeMounts": list_of({"name!": name(LABEL_1123), "mountPath!": lambda path: text(path) and path and ":" not in path})}
POD = {"subdomain": name(LABEL_1123), "restartPolicy!": one_of("Never", "OnFailure"),  # a Job's pods have no other
       "terminationGracePeriodSeconds": whole(0, 2**63 - 1), "automountServiceAccountToken": boolean, "enableServiceLinks": boolean,
       "containers!": list_of(CONTAINER),
       "volumes": list_of({"name!": name(LABEL_1123), "persistentVolumeClaim!": {"claimName!": name(LABEL_1123)}})}
POLICY_RULE = {"action!": one_of("Ignore", "FailJob", "Count", "FailIndex"),
               "onPodConditions": list_of({"type!": text, "status": one_of("True", "False", "Unknown")}),
               "onExitCodes": {"containerName": name(LABEL_1123), "operator!": one_of("In", "NotIn"), "values!": list_of(whole(0, 255))}}
KINDS = {
    "Service": {"apiVersion!": one_of("v1"), "kind!": text, "metadata!": META,
                "spec!": {"clusterIP": text, "publishNotReadyAddresses": boolean, "selector!": map_of(name(LABEL_VALUE))}},
    "PersistentVolumeClaim": {"apiVersion!": one_of("v1"), "kind!": text, "metadata!": META,
                              "spec!": {"accessModes!": list_of(one_of("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")),
                                        "resources!": {"requests!": {"storage!": name(r"\d+([EPTGMK]i?)?")}}}},
    "Job": {"apiVersion!": one_of("batch/v1"), "kind!": text, "metadata!": META,
            "spec!": {"completionMode": one_of("Indexed", "NonIndexed"), "completions": whole(0, 10**5), "parallelism": whole(0, 10**5),
                      "backoffLimit": whole(0), "activeDeadlineSeconds": whole(1, 2**63 - 1), "ttlSecondsAfterFinished": whole(0),
                      "podFailurePolicy": {"rules!": list_of(POLICY_RULE)}, "template!": {"spec!": POD}}}}


def expanded(word, environment):
    """docs/tasks/inject-data-application/define-command-argument-container: $(NAME) of a variable that is set, $$ is $."""
    one = lambda found: "$" if found[1] == "$" else environment.get(found[2], found[0])
    return re.sub(r"\$(\$|\(([^)]*)\))", one, word)


def failure_action(spec, status):
    """docs/concepts/workloads/controllers/job: rules are evaluated in order, the first that matches counts; else backoffLimit."""
    if status == 0:
        return "done"
    for rule in spec.get("podFailurePolicy", {"rules": []})["rules"]:
        codes = rule.get("onExitCodes")
        if codes and (status in codes["values"]) == (codes["operator"] == "In"):
            return {"Ignore": "again for nothing", "FailJob": "failed", "Count": "again"}[rule["action"]]
    return "again"


def check_job(job):
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    if "podFailurePolicy" in spec:
        expect(pod["restartPolicy"] == "Never", "podFailurePolicy wants restartPolicy Never")
        for rule in spec["podFailurePolicy"]["rules"]:
            expect(("onExitCodes" in rule) != ("onPodConditions" in rule), "a rule has exit codes or conditions")
            values = rule.get("onExitCodes", {}).get("values", [1])
            expect(values == sorted(set(values)) and values, "exit codes stand in order, once")
            expect(0 not in values or rule["onExitCodes"]["operator"] != "In", "0 is no failure")
    if spec.get("completionMode") == "Indexed":
        longest = f"{job['metadata']['name']}-{spec['completions'] - 1}"
        expect(re.fullmatch(LABEL_1123, longest), f"{longest} is no host name")  # the pods' host names: $(job-name)-$(index)
        expect(len(longest) + len("-xxxxx") <= 63, "a pod's name, with its random end, is too long")
    mounted = {mount["name"] for each in pod["containers"] for mount in each.get("volumeMounts", [])}
    expect(mounted <= {volume["name"] for volume in pod.get("volumes", [])}, "a volume that is mounted is missing")


def kubernetes(manifest):
    """(what comes of it, the Service, the claim, the Job)"""
    objects = documents(manifest)
    for each in objects:
        expect(isinstance(each, dict) and text(each.get("kind")), "a document has no kind")
        expect(each["kind"] in KINDS, f"{each['kind']} is unknown")
        check(KINDS[each["kind"]], each, each["kind"])
    service, claim, job = objects
    expect(re.fullmatch(LABEL_1035, service["metadata"]["name"]), "a service's name begins with a letter")
    check_job(job)
    expect(len(repr(job).encode()) < ANNOTATION_BYTES_MAX, "kubectl apply cannot keep it")
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    [container] = pod["containers"]
    environment = {each["name"]: each["value"] for each in container["env"] if "value" in each}
    secrets = {each["name"]: each["valueFrom"]["secretKeyRef"]["name"] for each in container["env"]
               if "secretKeyRef" in each.get("valueFrom", {})}
    known = environment | {each["name"]: "(elsewhere)" for each in container["env"]}
    grace = pod.get("terminationGracePeriodSeconds", 30)  # PodSpec: the default is 30; zero kills at once
    return Effective(argv=[expanded(word, known) for word in container["command"] + container.get("args", [])],
                     environment=environment, secrets=secrets, restarts=spec.get("backoffLimit", 6), stop_seconds=grace,
                     after={status: failure_action(spec, status) for status in (0, 1, 2, 3, 4, 5, 137, 143)},
                     writes=[mount["mountPath"] for mount in container["volumeMounts"]],
                     names=[each["metadata"]["name"] for each in objects]), service, claim, job


# --- Compose: the specification (github.com/compose-spec/compose-spec), and the restart policies of docs.docker.com

DURATION = r"(\d+(us|ms|s|m|h))+"  # 11-extension.md, "Specifying durations"


def number_or_text(value):
    return text(value) or (isinstance(value, (int, float)) and not isinstance(value, bool))  # no booleans: 05-services.md, environment


RESTART = name(r"no|always|unless-stopped|on-failure(:\d+)?")
HEALTH = {"test!": list_of(text), "interval": name(DURATION), "timeout": name(DURATION), "retries": whole(0), "start_period": name(DURATION)}
SERVICE = {"image!": text, "entrypoint": list_of(text), "command": list_of(text), "restart": RESTART, "stop_grace_period": name(DURATION),
           "secrets": list_of(text), "healthcheck": HEALTH, "environment": map_of(number_or_text),
           "volumes": list_of({"type!": one_of("volume", "bind", "tmpfs"), "source": text,
                               "target!": lambda path: text(path) and path.startswith("/") and path.strip("/") != ""})}
COMPOSE = {"services!": lambda value: isinstance(value, dict) and all(re.fullmatch(r"[a-zA-Z0-9._-]+", str(each)) for each in value),
           "secrets": map_of({"file!": text}), "volumes": map_of(lambda value: value in ({}, None))}


def interpolated(value):
    """12-interpolation.md: $NAME and ${NAME} are variables, $$ is a dollar; in values, not in keys."""
    if isinstance(value, dict):
        return {key: interpolated(each) for key, each in value.items()}
    if isinstance(value, list):
        return [interpolated(each) for each in value]
    if not text(value):
        return value
    expect(not re.search(r"(?<!\$)(?:\$\$)*\$(?!\$)", value), f"{value!r} has a variable of whoever runs compose")
    return value.replace("$$", "$")


def seconds_of(duration):
    unit = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
    return sum(int(number) * unit[name] for number, name in re.findall(r"(\d+)(us|ms|s|m|h)", duration))


def restarts_of(policy):
    """docs.docker.com, "Start containers automatically": on-failure[:max-retries]; without a number, and with 0 (the engine's restart
    manager: a maximum of 0 is none), without limit."""
    if policy == "no":
        return 0
    number = int(policy.partition(":")[2] or 0) if policy.startswith("on-failure") else 0
    return number or UNLIMITED


def compose(manifest):
    """({service: what comes of it}, the file)"""
    [whole_file] = documents(manifest)
    file = interpolated({key: value for key, value in whole_file.items() if not key.startswith("x-")})
    check(COMPOSE, file, "compose")
    effective = {}
    for key, service in file["services"].items():
        check(SERVICE, service, key)
        expect(re.fullmatch(LABEL_1123, key), f"{key} is no host name")
        for secret in service.get("secrets", []):
            expect(secret in file["secrets"], f"{secret} stands under no secrets")
        for volume in service.get("volumes", []):
            expect(volume["type"] != "volume" or volume["source"] in file["volumes"], "a volume stands under no volumes")
        restarts = restarts_of(service.get("restart", "no"))
        again = "again" if restarts != 0 else "failed"  # Docker restarts after any status but 0
        effective[key] = Effective(
            argv=service["entrypoint"] + service.get("command", []), environment=service["environment"],
            secrets={f"/run/secrets/{secret}": file["secrets"][secret]["file"] for secret in service.get("secrets", [])},
            restarts=restarts, stop_seconds=seconds_of(service.get("stop_grace_period", "10s")),
            after={status: again if status else "done" for status in (0, 1, 2, 3, 4, 5, 137, 143)},
            writes=[volume["target"] for volume in service.get("volumes", [])], names=[key])
    return effective, file
