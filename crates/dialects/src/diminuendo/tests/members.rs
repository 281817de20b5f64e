//! manage_members and its answers.

use serde_json::{Value, json};
use vocabulary::{
    Call, Caller, Member, MemberCall, MemberReply, Refusal, Reply, Role, TenantId, Timestamp, Why,
};

use super::stub::{Asked, Stub};

fn member(id: &str, role: Role) -> Member {
    Member {
        id: id.to_owned(),
        role,
        email: None,
        name: None,
        created_at: Timestamp(5),
        updated_at: Timestamp(7),
        removed_at: None,
    }
}

fn of_north() -> Stub {
    let caller = Caller {
        tenant: TenantId::new("north"),
        member: "ada".to_owned(),
        ..Caller::local()
    };
    let mut stub = Stub::opened_by(Some(caller), &[]);
    stub.sent.clear();
    stub
}

fn ask(stub: &mut Stub, message: Value) -> MemberCall {
    stub.say(message);
    match stub.asked.last() {
        Some((_, Asked::Call(Call::Members(call)))) => call.clone(),
        Some(_) | None => panic!("not a call for members"),
    }
}

#[test]
fn members_are_listed_changed_and_removed() {
    let mut stub = of_north();
    let call = ask(
        &mut stub,
        json!({"type": "manage_members", "action": "list", "requestId": "r1"}),
    );
    assert_eq!(call, MemberCall::List);
    let ada = Member {
        email: Some("ada@example.com".to_owned()),
        name: Some("Ada".to_owned()),
        ..member("ada", Role::Owner)
    };
    let list = MemberReply::List(vec![ada, member("bob", Role::BillingAdmin)]);
    stub.reply(Ok(Reply::from(list)));
    assert_eq!(
        stub.take(),
        [json!({"type": "member_list", "members": [
            {"userId": "ada", "role": "owner", "createdAt": 5, "updatedAt": 7,
             "email": "ada@example.com", "name": "Ada"},
            {"userId": "bob", "role": "billing_admin", "createdAt": 5, "updatedAt": 7},
        ], "requestId": "r1"})]
    );
    let call = ask(
        &mut stub,
        json!({"type": "manage_members", "action": "set_role", "userId": "bob", "role": "viewer"}),
    );
    let (id, role) = ("bob".to_owned(), Role::Viewer);
    assert_eq!(call, MemberCall::SetRole { id, role });
    stub.reply(Ok(MemberReply::Set(member("bob", role)).into()));
    let updated = json!({"type": "member_updated", "userId": "bob", "role": "viewer"});
    assert_eq!(stub.take(), [updated]);
    let call = ask(
        &mut stub,
        json!({"type": "manage_members", "action": "remove", "userId": "bob"}),
    );
    let id = "bob".to_owned();
    assert_eq!(call, MemberCall::Remove { id: id.clone() });
    stub.reply(Ok(MemberReply::Removed(id).into()));
    let removed = json!({"type": "member_removed", "userId": "bob"});
    assert_eq!(stub.take(), [removed]);
}

#[test]
fn what_is_missing_or_refused_is_said() {
    let mut stub = of_north();
    for (message, missing) in [
        (
            json!({"type": "manage_members", "action": "remove"}),
            "userId",
        ),
        (
            json!({"type": "manage_members", "action": "set_role", "role": "owner"}),
            "userId",
        ),
        (
            json!({"type": "manage_members", "action": "set_role", "userId": "bob"}),
            "role",
        ),
    ] {
        stub.say(message);
        let said = stub.sent[0]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(said.contains(missing), "{said}");
        assert_eq!(stub.take_error(), "INVALID_MESSAGE");
    }
    assert!(stub.asked.is_empty());
    ask(
        &mut stub,
        json!({"type": "manage_members", "action": "remove", "userId": "ada"}),
    );
    let last = "`ada` is the last owner; make somebody else an owner first";
    stub.reply(Err(Refusal::new(Why::Forbidden, last)));
    assert_eq!(stub.sent[0]["message"], last);
    assert_eq!(stub.take_error(), "Forbidden");
}

#[test]
fn a_lone_user_is_the_developer_here_too() {
    let mut stub = Stub::connected();
    let lone = Caller::local().member;
    let call = ask(
        &mut stub,
        json!({"type": "manage_members", "action": "remove", "userId": "dev-user-001"}),
    );
    assert_eq!(call, MemberCall::Remove { id: lone.clone() });
    let owner = Member {
        created_at: Timestamp(0),
        ..member(&lone, Role::Owner)
    };
    stub.reply(Ok(MemberReply::List(vec![owner]).into()));
    let members = json!([{"userId": "dev-user-001", "role": "owner"}]);
    assert_eq!(
        stub.take(),
        [json!({"type": "member_list", "members": members})]
    );
}
