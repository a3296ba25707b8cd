"""A session at a service is like one in this process: same results, same errors, and nothing is paid for twice."""

import datetime
import ipaddress
import signal
import ssl
import subprocess
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import adyton as ad
from adyton.errors import BadInput, BudgetExceeded, ServiceError, Unfinished, Waiting
from adyton.session import client
from adyton.session.run import run
from adyton.tasks import Request
from small_service import TOKEN, SmallService, listening

SCHEMA = ad.Schema({"age": ad.Integer(0, 63), "sex": ad.Categorical(["F", "M"]), "cost": ad.Integer(0, 99)})
CODES = np.random.default_rng(3).integers(0, [64, 2, 100], (2000, 3))
pytestmark = pytest.mark.filterwarnings("ignore::adyton.errors.LargeBudget")


def simulated(seed=7):
    return ad.Kernel.simulated_table(CODES, SCHEMA, epsilon=100, seed=seed)


@pytest.fixture
def service():
    return SmallService(simulated())


@pytest.fixture
def url(service, tmp_path):
    with listening(service, tmp_path / "s") as address:
        yield address


@pytest.fixture
def session(url):
    with ad.connect(url, token=TOKEN) as opened:
        yield opened


REQUESTS = [
    (ad.Histogram("age"), {"algorithm": "identity"}),
    (ad.Cdf("age"), {"algorithm": "hb", "nonnegative": True}),
    (ad.Marginals(way=2), {"algorithm": "all-pairs"}),
    (ad.Mean("cost", by="sex"), {}),
    (ad.Count(), {}),
    (ad.Classifier("sex", method="naive-bayes"), {}),
]


@pytest.mark.parametrize(("task", "how"), REQUESTS, ids=lambda value: str(value)[:20])
def test_results_are_those_of_a_session_here(session, task, how):
    options = {name: value for name, value in how.items() if name != "algorithm"}
    request = Request.of(task, "0.5", algorithm=how.get("algorithm", "auto"), options=options)
    here = run(simulated(), request, lambda paid: None)
    there = session._ask(request)
    assert type(there) is type(here)
    plain, other = (result.to_dict() for result in (here, there))
    assert plain == other
    assert session.spent == Fraction(1, 2)
    assert session.last is there
    (id,) = session.receipts
    assert session.fetch(id).to_dict() == plain
    assert session.requests()[0]["id"] == id


def test_it_has_what_a_session_has(session):
    assert {name for name in dir(ad.Session) if name[0] != "_"} <= {*dir(session)}
    assert (session.unit, session.schema, session.total) == ("row", SCHEMA, 100)
    assert session.count(1).epsilon == 1
    assert session.fit(ad.Classifier("sex", method="naive-bayes"), 1).algorithm == "naive-bayes"
    assert session.preview(ad.Histogram("age"), 1, where="sex = 'F'").affordable
    assert session.epsilon_for(ad.Histogram("age"), 2, algorithm="identity").sentence
    assert "98 of 100 left" in repr(session)
    with pytest.raises(BadInput, match="ledger is at the service"):
        _ = session.ledger
    with pytest.raises(BadInput, match="no attribute"):
        session.preview(ad.Count(), 1, where="height > 3")


def test_a_batch_is_saved_and_continued(session, service, tmp_path):
    asked = [ad.Count(), {"task": "histogram", "attributes": ["sex"], "name": "sexes"}]
    first = session.run(asked, 1, out=tmp_path / "out")
    again = session.run(asked, 1, out=tmp_path / "out")
    assert [result.to_dict() for result in first] == [result.to_dict() for result in again]
    assert service.kernel.spent == 1
    with pytest.raises(BudgetExceeded, match=r"99 is left for you\. Ask for at most 99"):
        session.run(asked, 200)


def test_errors_are_those_of_this_process(session, service):
    with pytest.raises(BudgetExceeded) as refused:
        session.release(ad.Count(), "200/3" if service.kernel.measure(service.kernel.root, noisy_count(), 50) else 1)
    assert (refused.value.asked, refused.value.left, refused.value.total) == (Fraction(200, 3), 50, 100)
    with pytest.raises(BadInput, match="no attribute"):
        session.release(ad.Histogram("height"), 1)
    with pytest.raises(ServiceError, match=r"There is no request of this id\.$"):
        session.fetch("none")
    assert session.last is None
    assert service.kernel.spent == 50


def noisy_count():
    from adyton.kernel.mechanisms import NoisyCount

    return NoisyCount()


# ---- what goes wrong on the way -------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", ["lost", "busy"])
def test_a_lost_reply_is_asked_for_again_and_not_paid_twice(session, service, trouble):
    service.troubles.extend([trouble, trouble, None])
    assert session.count("0.5").epsilon == Fraction(1, 2)
    service.troubles.extend([None, trouble, trouble])
    ages = session.kernel.root.select("age").vectorize()
    service.troubles.extend([trouble, None, trouble])
    ages.measure(ad.workloads.Identity(64), "0.25")
    assert service.kernel.spent == Fraction(3, 4)
    assert session.kernel.known_budget.spent == Fraction(3, 4)


def test_where_nobody_answers_the_id_is_in_the_message(url, service):
    session = ad.connect(url, token=TOKEN, patience=0.5)
    service.troubles.extend(["lost"] * 50)
    with pytest.raises(ServiceError, match=r"broke off.* Its id is (\w+): session\.fetch"):
        session.count(1)
    service.troubles.clear()
    assert session.last.epsilon == 1  # fetched
    assert service.kernel.spent == 1


def test_an_interrupt_tells_the_id(session, service):
    service.lock.acquire()  # the service works on it
    waiting = threading.get_ident()

    def interrupt():
        while not session._requests:
            time.sleep(0.01)
        time.sleep(0.1)
        signal.pthread_kill(waiting, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt) as stopped:
            session.count(1)
    finally:
        service.lock.release()
    id = next(iter(session._requests))
    assert f"session.fetch('{id}')" in stopped.value.__notes__[0]
    assert session.measurements.answers == ()
    while id not in service.results:
        time.sleep(0.01)
    assert session.last.to_dict() == session.fetch(id).to_dict()
    assert service.kernel.spent == 1


def test_a_request_waits_for_consent(session, service):
    service.consent.add("consent")
    with pytest.raises(Waiting, match="waits for the curator") as waiting:
        session.count(1)
    with pytest.raises(Waiting):
        session.fetch(waiting.value.id)
    assert service.kernel.spent == 0
    service.consent.clear()
    assert session.fetch(waiting.value.id).epsilon == 1


def test_what_cannot_be_read_is_kept(session, service):
    real = service._result
    service._result = lambda id: (200, {}, real(id)[2].replace('"identity"', '"identitY"'))
    with pytest.raises(ServiceError, match=r"was changed after.* session\.last has the reply as text"):
        session.release(ad.Histogram("age"), 1, algorithm="identity")
    assert '"identitY"' in session.last


def test_the_result_of_another_request_is_refused(session, service):
    session.count(1)
    (text,) = service.results.values()
    service._result = lambda id: (200, {}, text)
    with pytest.raises(ServiceError, match="the result of another one"):
        session.count("0.5")


def test_a_request_that_ended_early(session, service):
    plain = {"format": "adyton measurements", "version": 1, "ended": "the request ended early (TimeoutError)."}
    service._result = lambda id: (200, {}, client.json.dumps(plain))
    with pytest.raises(Unfinished, match="TimeoutError"):
        session.count(1)
    assert session.last == plain


def test_a_receipt_of_somebody_else_is_not_kept(session, service):
    session.count(1)
    service.key = Ed25519PrivateKey.generate()
    with pytest.warns(UserWarning, match="not signed with the key"):
        assert session.count(1).epsilon == 1
    assert len(session.receipts) == 1


# ---- reaching a service ---------------------------------------------------------------------------------------------


def test_the_data_set_must_be_clear(url, service, monkeypatch):
    monkeypatch.setenv("ADYTON_TOKEN", TOKEN)
    assert ad.connect(url).kernel.dataset == "visits"
    service.names.append("calls")
    with pytest.raises(BadInput, match=r"2 data sets .* one of .*visits.*calls.* with dataset="):
        ad.connect(url)
    assert ad.connect(url, dataset="visits").remaining == 100
    with pytest.raises(ServiceError, match="no such data set"):
        ad.connect(url, dataset="others")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("unix:/nowhere/s", "Nobody listens at unix:/nowhere/s"),
        ("http://localhost:9", "Nobody listens at http://localhost:9"),
        ("https://no-such-host.invalid", "There is no host 'no-such-host.invalid'"),
        ("http://example.org", "token unprotected"),
        ("ftp://localhost", "an address is"),
        ("https://localhost/path", "an address is"),
        (7, "an address is"),
    ],
)
def test_wrong_addresses_are_said_in_a_sentence(address, said):
    with pytest.raises((BadInput, ServiceError), match=said):
        ad.connect(address, token=TOKEN, dataset="visits", patience=1)


def test_tokens(url, monkeypatch):
    monkeypatch.delenv("ADYTON_TOKEN", raising=False)
    with pytest.raises(BadInput, match="give your token"):
        ad.connect(url)
    with pytest.raises(BadInput, match="not one that a service gives out") as refused:
        ad.connect(url, token="secret\nX: y")
    assert "secret" not in str(refused.value)
    with pytest.raises(ServiceError, match="This token is not valid"):
        ad.connect(url, token="other")


def test_something_else_at_the_address(service, url):
    service.reply = lambda *given: (200, {}, "<html>")
    with pytest.raises(ServiceError, match="not JSON"):
        ad.connect(url, token=TOKEN)
    service.reply = lambda *given: (404, {}, "<html>")
    with pytest.raises(ServiceError, match="status 404, and not like a service of Adyton"):
        ad.connect(url, token=TOKEN)


def test_certificates_are_verified(service, tmp_path):
    key, day = Ed25519PrivateKey.generate(), datetime.timedelta(days=1)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day)
    signed = made.add_extension(names, False).sign(key, None)
    (tmp_path / "c.pem").write_bytes(signed.public_bytes(Encoding.PEM))
    (tmp_path / "k.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "c.pem", tmp_path / "k.pem")
    with listening(service, context=context) as address:
        with ad.connect(address, token=TOKEN, certificate=tmp_path / "c.pem") as session:
            assert session.count(1).epsilon == 1
        with pytest.raises(ServiceError, match="certificate of .* cannot be verified .* certificate="):
            ad.connect(address, token=TOKEN)
        with pytest.raises(ServiceError, match="broke off|cannot be reached"):
            ad.connect(address.replace("https", "http"), token=TOKEN, patience=0.2)
    with pytest.raises(BadInput, match="cannot be read"):
        ad.connect(address, token=TOKEN, certificate=tmp_path / "none.pem")


def test_the_token_is_shown_nowhere(session):
    shown = repr(session) + repr(session.kernel) + repr(session._client) + str(vars(session._client.address))
    assert TOKEN not in shown


def test_nothing_of_it_is_loaded_with_the_package():
    code = "import sys, adyton; adyton.Session; print([m for m in sys.modules if 'remote' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
